"""The live view of `bot run`: what its database says, the next poll, and the end of its log."""

import io
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from bot.cli.daemon_view import DaemonView, LogLines, daemon_view
from bot.configuration import read_settings
from tests.bot.status import parts
from tests.bot.status.parts import SPOOKY

TOML = f"[daemon]\ndir = 'state'\n\n[web]\nenabled = true\n\n[competitions.{SPOOKY}]\nsubmit = true\n"
LINE = f"2026-11-20T09:00:00.123456Z info     node 7: draft competition={SPOOKY}\n"


def console() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, force_terminal=True, width=130, height=40, color_system=None), out


def view(folder: Path, log: LogLines) -> DaemonView:
    (folder / "bot.toml").write_text(TOML, encoding="utf-8")
    return DaemonView(folder / "state" / "bot.db", read_settings(folder / "bot.toml"), log)


def test_it_shows_competitions_what_they_do_and_wait_for_the_last_events_and_the_page(tmp_path: Path) -> None:
    parts.busy(tmp_path / "state")
    log, (terminal, out) = LogLines(), console()
    log.write(LINE)
    terminal.print(view(tmp_path, log))
    text = out.getvalue()
    for words in (
        "NEEDS YOU",
        "84 of 1241",
        "node 4: improve, runs on the hold-out view, for",
        "09:00:00 info     node 7: draft",
        "on the web:\nhttp://127.0.0.1:8765/?token=",
        "Ctrl-C stops the bot",
    ):
        assert words in text
    assert "node 7: draft competition" not in text, "the only competition is not named in each line"
    assert "next      read Kaggle (" in text and "spent     in total: $1.00" in text


def test_it_fits_a_terminal_of_80_columns_and_24_rows() -> None:
    log, out = LogLines(), io.StringIO()
    for number in range(20):
        log.write(LINE.replace("node 7", f"node {number}"))
    with TemporaryDirectory() as folder:  # paths are shown, and a long one takes more lines
        parts.busy(Path(folder) / "state")
        Console(file=out, force_terminal=True, width=80, height=24, color_system=None).print(view(Path(folder), log))
    lines = out.getvalue().splitlines()
    assert len(lines) == 24 and lines[0].startswith("Ctrl-C stops the bot")
    assert "now       node 4: improve" in out.getvalue(), "what is being done comes before what waits"
    assert "node 19: draft" in lines[-1] and "node 18: draft" in lines[-2]


def test_before_there_is_a_database_it_is_starting(tmp_path: Path) -> None:
    terminal, out = console()
    terminal.print(view(tmp_path, LogLines()))
    assert "starting" in out.getvalue()


def test_when_it_ends_the_end_of_the_log_stays_on_the_terminal(tmp_path: Path) -> None:
    terminal, out = console()
    log = LogLines()
    with daemon_view(tmp_path / "bot.db", read_settings(None), log, terminal):
        log.write(LINE)
    assert out.getvalue().rstrip().endswith(LINE.strip())
