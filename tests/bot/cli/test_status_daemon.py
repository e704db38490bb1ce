"""`bot status` of a daemon: read from its database alone, while it writes, and nothing changed by it."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.status import presence, problems
from bot.status.lock import LOCK
from bot.status.presence import PULSE
from sandbox.locks import try_lock
from state.clock import FastClock
from state.errors import UsageError
from state.progress import create_node
from state.steering import set_control
from state.store import NO_RUN, Store
from state.tables import Heartbeat
from tests.bot.status import parts
from tests.bot.status.parts import NOMAD, NOW, RUN, SPOOKY

TOML = f"""
[daemon]
dir = "state"

[budget.day]
money = 2.0

[competitions.{SPOOKY}]
submit = true
max_cost_per_day = 1.0
submissions_per_day = 3

[competitions.{NOMAD}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("bot.toml").write_text(TOML, encoding="utf-8")
    return tmp_path / "state"


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["status", *arguments], catch_exceptions=False)


def status() -> dict[str, Any]:
    done = invoke("--json")
    assert done.exit_code == 0, done.output
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def lines(text: str, label: str) -> list[str]:
    """Return what stands behind a label, its wrapped lines put together."""
    found: list[str] = []
    mine = False
    for line in text.splitlines():
        if line.startswith(f"  {label} "):
            found.append(line.removeprefix(f"  {label} ").strip())
            mine = True
        elif mine and line.startswith(" " * 12):
            found[-1] += f" {line.strip()}"
        else:
            mine = False
    return found


def test_each_competition_is_shown_in_a_table_and_in_lines_that_fit_a_screen(folder: Path) -> None:
    parts.busy(folder)
    shown = invoke().stdout
    texts = [line for line in shown.splitlines() if line[:1] not in "┏┡├└┃│"]
    assert len(texts) > 20 and not [t for t in texts if len(t) > 80 and str(folder) not in t]
    assert max(map(len, shown.splitlines())) <= 100
    assert "84 of 1241" in shown
    assert "bronze" in shown
    problem = lines(shown, "NEEDS YOU")[-1]
    assert problem.startswith(f"accept the rules of {NOMAD} on its page (for ")
    assert lines(shown, "given up") == [f"1 task (learn of {SPOOKY}), last attempt 2026-11-20 09:00 UTC: no answer"]
    assert lines(shown, "state")[0].endswith("its rules are not accepted")
    assert lines(shown, "knows") == ["1 message in 1 topic, 1 kernel, 2 analysed; 2 ideas, 1 draft, 1 report"]
    assert lines(shown, "nodes") == ["5: 1 running, 2 valid, 1 buggy, 1 failed; best validation score: 0.4 (node 3)"]
    assert lines(shown, "now") == ["node 4: improve, runs on the hold-out view, when the daemon stopped"]
    assert lines(shown, "problem")[0].endswith("Kaggle answered 503 to kernels/list")
    assert lines(shown, "note") == [
        "1 from 2026-11-20 08:00 UTC, read by the planner 2026-11-20 09:00 UTC: look at punctuation",
        "2 from 2026-11-20 09:40 UTC, not read yet: and at stop words",
    ]


def test_a_daemon_that_ended_has_stopped_or_has_finished_with_its_ranks(folder: Path) -> None:
    clock = parts.busy(folder)
    with parts.opened(folder, clock) as store:
        with store.write() as tx:
            presence.record_end(tx)
        assert lines(invoke().stdout, "daemon")[0].startswith("stopped 2026-11-20")
        with store.write() as tx:
            for slug in (SPOOKY, NOMAD):
                tx.record("entry.over", run_id=NO_RUN, competition=slug, reason="")
        (daemon,) = lines(invoke().stdout, "daemon")
    assert daemon.startswith("finished 2026-11-20") and f"rank 84 of 1241, bronze on {SPOOKY}" in daemon
    assert f"no rank on {NOMAD}" in daemon


@pytest.mark.integration
def test_one_competition_is_shown_alone_and_another_name_is_refused_with_those_there_are(folder: Path) -> None:
    with pytest.raises(UsageError, match=f"{SPOOKY} is neither a folder nor a competition of the daemon"):
        invoke(SPOOKY)
    parts.busy(folder)
    shown = invoke(SPOOKY).stdout
    assert SPOOKY in shown
    assert lines(shown, "state") == lines(invoke().stdout, "state")[1:]
    assert [one["competition"] for one in json.loads(invoke(SPOOKY, "--json").stdout)["competitions"]] == [SPOOKY]
    with pytest.raises(
        UsageError,
        match=f"titanic is neither a folder nor one of the daemon's competitions: choose from {NOMAD}, {SPOOKY}",
    ):
        invoke("titanic")
    with pytest.raises(UsageError, match="runs/titanic: not found"):
        invoke("runs/titanic")


def test_a_program_gets_one_object_with_all_of_it(folder: Path) -> None:
    parts.busy(folder)
    found = status()
    daemon = found["daemon"]
    assert (daemon["running"], daemon["process"], daemon["since"]) == (False, 4242, "2026-11-19T10:00:00Z")
    assert daemon["account"]["figures"]["money"]["cap"] == 2.0
    nomad, spooky = found["competitions"]
    assert (nomad["competition"], nomad["state"], nomad["reason"]) == (NOMAD, "waiting", "its rules are not accepted")
    assert (spooky["state"], spooky["run"]["id"], spooky["deadline"]) == ("working", RUN, "2026-12-02T22:00:00Z")
    assert [one["key"] for one in spooky["next"]] == [f"poll:{SPOOKY}", f"submit:{SPOOKY}"]


@pytest.mark.integration
def test_a_daemon_that_runs_differs_from_one_that_was_killed_or_ended(folder: Path) -> None:
    parts.busy(folder)
    assert "stopped unexpectedly" in " ".join(invoke().stdout.split())
    lock = try_lock(folder / LOCK)
    assert status()["daemon"]["running"]
    assert "running since 2026-11-19 10:00 UTC" in invoke().stdout
    with Store.open(folder / "bot.db", parts.StandingClock(NOW)) as store, store.write() as tx:
        tx.add(Heartbeat(name=PULSE, at=tx.now(), text="polls titanic"))
    assert status()["daemon"]["alive"] == "2026-11-20T10:00:00Z"
    lock.release()
    with Store.open(folder / "bot.db", parts.StandingClock(NOW)) as store, store.write() as tx:
        presence.record_end(tx)
    assert status()["daemon"]["ended_at"] == "2026-11-20T10:00:00Z"


def test_days_left_and_what_was_today_go_by_the_rehearsals_clock(folder: Path) -> None:
    parts.busy(folder)
    fast = FastClock(NOW + timedelta(hours=1), 0.001)
    with Store.open(folder / "bot.db", fast) as store, store.write() as tx:
        presence.record_start(tx, 1)
    found = status()
    assert found["daemon"]["now"].startswith("2026-11-20T11:00")
    _, spooky = found["competitions"]
    assert spooky["days_left"] == pytest.approx(12.5 - 1 / 24, abs=0.001)
    assert (spooky["submissions"]["today"], spooky["submissions"]["left_today"]) == (1, 2), "of the owner's 3"
    assert {one["level"]: one["figures"]["money"]["spent"] for one in spooky["accounts"]} == {
        "competition": 1.0,
        "competition day": 0.25,
        "run": 1.0,
    }


def test_it_is_read_while_the_daemon_writes_and_changes_nothing(folder: Path) -> None:
    clock = parts.busy(folder)
    with parts.opened(folder, clock) as store, store.write() as tx:
        create_node(tx, RUN, action="draft")
        tx.session.flush()
        before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if not path.name.endswith("-shm")}
        _, spooky = status()["competitions"]
        assert spooky["nodes"]["running"] == 1, "what is not committed is not seen"
        after = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if not path.name.endswith("-shm")}
        assert after == before


def test_what_others_wrote_does_not_steer_the_terminal(folder: Path) -> None:
    clock = parts.busy(folder)
    with parts.opened(folder, clock) as store, store.write() as tx:
        problems.begin(tx, "odd", "\x1b[31mred [/bold]")
    shown = invoke().stdout
    assert "red [/bold]" in shown
    assert "\x1b" not in shown


def test_the_owners_word_stands_beside_the_state(folder: Path) -> None:
    clock = parts.busy(folder)
    with parts.opened(folder, clock) as store, store.write() as tx:
        set_control(tx, SPOOKY, "paused")
    assert "you have paused it" in invoke().stdout
    assert status()["competitions"][1]["control"] == "paused"


def test_a_new_database_without_anything_is_no_problem(folder: Path) -> None:
    Store.open(folder / "bot.db", parts.StandingClock(NOW)).close()
    found = status()
    assert [one["state"] for one in found["competitions"]] == ["not begun", "not begun"]
    assert "never started" in invoke().stdout


def test_runs_in_folders_are_shown_as_before_and_named_where_there_is_a_daemon_too(folder: Path) -> None:
    with pytest.raises(UsageError, match="neither the daemon's database"):
        invoke()
    Path("runs").mkdir()
    assert "no runs in runs" in invoke().stdout
    parts.busy(folder)
    assert "`bot status runs` shows them" in invoke().stdout
    assert "no runs in runs" in invoke("runs").stdout


def test_another_configuration_names_another_daemon(folder: Path, tmp_path: Path) -> None:
    parts.busy(tmp_path / "elsewhere")
    (tmp_path / "other.toml").write_text(f"[daemon]\ndir = {str(tmp_path / 'elsewhere')!r}\n")
    found = json.loads(invoke("--json", "--config", "other.toml").stdout)
    assert [(one["competition"], one["configured"]) for one in found["competitions"]] == [
        (NOMAD, False),
        (SPOOKY, False),
    ]
