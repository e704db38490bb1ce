"""What is logged, by us or by a library, comes out as one line for people, programs or the journal, without a secret."""

import io
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pytest

from bot.configuration.secret_texts import SECRET_PATTERNS
from bot.logs import LogFormat, Logs, open_logging
from bot.logs.setup import LONGEST, in_journal
from state.redaction import MASK, Redactor

SECRET = "hunter2-is-a-s3cret"
REDACTOR = Redactor({SECRET: "KEY"}, SECRET_PATTERNS)


def run(code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def opened(format: LogFormat, stream: io.StringIO, **more: Any) -> Logs:
    return open_logging(format, stream, REDACTOR, **more)


def objects(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


def test_a_message_is_one_object_with_the_fields_that_its_logger_is_bound_to(stream: io.StringIO) -> None:
    with opened("json", stream) as logs:
        logs.log.bind(competition="titanic", run="r-1").info("polled", node=3, task="poll:titanic", seconds=0.5)
    (line,) = objects(stream)
    assert line.pop("at").endswith("Z")
    assert list(line) == ["level", "event", "competition", "run", "node", "task", "seconds"]
    assert list(line.values()) == ["info", "polled", "titanic", "r-1", 3, "poll:titanic", 0.5]


def test_on_a_terminal_lines_are_for_people_and_elsewhere_for_programs() -> None:
    terminal, pipe = Terminal(), io.StringIO()
    for stream in (terminal, pipe):
        with opened("auto", stream) as logs:
            logs.log.warning("the disk is\nnearly full", competition="titanic", why="two words", free=0.5)
    text = terminal.getvalue()
    assert text.endswith('Z warning  the disk is\\nnearly full competition=titanic why="two words" free=0.5\n')
    assert objects(pipe)[0]["event"] == "the disk is\nnearly full"


def test_what_libraries_log_goes_the_same_way_but_of_requests_only_what_is_wrong(stream: io.StringIO) -> None:
    with opened("json", stream):
        logging.getLogger("some.library").info("%d things of %s", 3, SECRET)
        logging.getLogger("httpx2").info("HTTP Request: GET https://example.org")
        logging.getLogger("apprise").warning("it did not work")
    assert [(line["logger"], line["level"], line["event"]) for line in objects(stream)] == [
        ("some.library", "info", f"3 things of {MASK}"),
        ("apprise", "warning", "it did not work"),
    ]


@pytest.mark.parametrize("format", ["text", "json"])
def test_no_secret_reaches_a_line_from_a_message_a_field_or_a_traceback(format: LogFormat, stream: io.StringIO) -> None:
    with opened(format, stream) as logs:
        logs.log.info(f"a {SECRET}", key=[SECRET], path=Path("/x") / SECRET, of={"deep": SECRET}, token="KGAT_abcdefgh")
        try:
            raise ValueError(f"wrong: {SECRET}")
        except ValueError:
            logs.log.exception("it failed", error=SECRET)
    text = stream.getvalue()
    assert "hunter2" not in text and "KGAT_" not in text
    assert f"ValueError: wrong: {MASK}" in text
    assert text.count(MASK) == 7


def test_a_traceback_is_a_field_of_an_object_and_stands_below_a_line(stream: io.StringIO) -> None:
    text = io.StringIO()
    for format, into in (("json", stream), ("text", text)):
        with opened(format, into) as logs:
            try:
                raise ValueError("wrong")
            except ValueError:
                logs.log.exception("it failed")
    (line,) = objects(stream)
    assert line["level"] == "error"
    assert line["exception"].startswith("Traceback") and line["exception"].endswith("ValueError: wrong")
    assert [part.split(" ")[0] for part in text.getvalue().splitlines()[1:3]] == ["Traceback", ""]


def test_no_foreign_text_can_forge_a_line_or_move_a_terminals_cursor() -> None:
    stream = Terminal()
    with opened("auto", stream) as logs:
        logs.log.info("a\x1b[2Jb", title="x\n2026-01-01 critical all is lost\u202e")
    assert stream.getvalue().count("\n") == 1
    assert "\x1b" not in stream.getvalue() and "\u202e" not in stream.getvalue()


def test_a_long_field_is_cut_and_a_number_that_json_lacks_is_a_text(stream: io.StringIO) -> None:
    with opened("json", stream) as logs:
        logs.log.info("x", text="y" * 100_000, number=float("nan"))
    (line,) = objects(stream)
    assert (len(line["text"]), line["number"]) == (LONGEST + len("[...]"), "nan")


def test_in_the_journal_every_line_has_the_priority_of_its_level_and_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "journal").open("w+") as stream:
        status = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{status.st_dev}:{status.st_ino}")
        for format in ("text", "json"):
            with open_logging(format, stream, REDACTOR) as logs:
                logs.log.info("one")
                try:
                    raise ValueError("wrong")
                except ValueError:
                    logs.log.exception("two")
        stream.seek(0)
        lines = stream.read().splitlines()
    assert lines[0] == "<6>info     one"
    assert lines[1] == "<3>error    two"
    assert all(line.startswith("<3>") for line in lines[2:-2])
    assert json.loads(lines[-2].removeprefix("<6>")) == {"level": "info", "event": "one"}
    assert json.loads(lines[-1].removeprefix("<3>"))["exception"].endswith("ValueError: wrong")


def test_a_variable_that_an_ancestor_left_makes_no_journal_of_another_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOURNAL_STREAM", "1:2")
    with (tmp_path / "file").open("w") as stream:
        assert not in_journal(stream)
    assert not in_journal(io.StringIO())


def test_a_log_that_cannot_be_written_stops_nothing_and_shows_nothing() -> None:
    code = f"""
import logging
from bot.logs import open_logging
from state.redaction import Redactor
with open("/dev/full", "w") as stream, open_logging("json", stream, Redactor({{{SECRET!r}: "KEY"}})) as logs:
    logs.log.info({SECRET!r})
    logging.getLogger("library").info("%d", {SECRET!r})  # its text cannot even be put together
    print("went on", flush=True)
    stream.detach()
"""
    done = run(code)
    assert done.stdout == "went on\n"
    assert "hunter2" not in done.stderr and "Logging error" not in done.stderr


def test_closing_leaves_logging_as_it_was(stream: io.StringIO) -> None:
    def state() -> tuple[object, ...]:
        root = logging.getLogger()
        hooks = sys.excepthook, threading.excepthook, sys.unraisablehook, warnings.showwarning
        return list(root.handlers), root.level, logging.getLogger("httpx2").level, hooks

    before = state()
    with opened("json", stream):
        assert state() != before
    assert state() == before


def test_what_ends_a_thread_or_is_ignored_is_logged(stream: io.StringIO) -> None:
    def fail() -> None:
        raise ValueError(SECRET)

    class Failing:
        def __del__(self) -> None:
            raise ValueError(SECRET)

    with opened("json", stream):
        thread = threading.Thread(target=fail, name="worker")
        thread.start()
        thread.join()
        Failing()
    first, second = objects(stream)
    assert (first["level"], first["thread"]) == ("error", "worker")
    assert first["exception"].endswith(f"ValueError: {MASK}")
    assert second["exception"].endswith(f"ValueError: {MASK}")


def test_the_error_that_ends_the_process_is_logged_and_printed_nowhere_else() -> None:
    code = f"""
import sys
from bot.logs import open_logging
from state.redaction import Redactor
with open_logging("json", sys.stdout, Redactor({{{SECRET!r}: "KEY"}})):
    raise ValueError({SECRET!r} + " is wrong")
"""
    done = run(code)
    assert (done.returncode, done.stderr) == (1, "")
    line = json.loads(done.stdout)
    assert line["level"] == "critical"
    assert "hunter2" not in done.stdout
