"""What holds of a run however often it was killed."""

import contextlib
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from bot.execution.folder import run_folders
from sandbox.leftovers import find_orphaned_resources
from state.clock import SystemClock
from state.store import Store
from tests.chaos.world import World
from tests.state.derive import from_events, from_rows

Event = dict[str, Any]


def events(run: Path) -> list[Event]:
    """Return what a run's database says has happened, as it is now; nothing before its first commit."""
    with (
        contextlib.suppress(sqlite3.OperationalError),
        contextlib.closing(sqlite3.connect(run / "state.db")) as database,
    ):
        rows = database.execute("SELECT seq, at, type, node, data FROM event ORDER BY seq").fetchall()
        return [
            {"id": seq, "at": at, "type": kind, "node": node, **json.loads(data)} for seq, at, kind, node, data in rows
        ]
    return []


def tree(run: Path) -> list[tuple[Any, ...]]:
    """Return what must be the same undisturbed: each node's action, parents, code, status and score."""
    told = events(run)
    made = {e["node"]: (e["action"], tuple(e["parents"]), e["draft"]) for e in told if e["type"] == "node.created"}
    code = {e["node"]: e["code_sha"] for e in told if e["type"] == "node.updated"}
    ended = {e["node"]: (e["status"], e["score"]) for e in told if e["type"] == "node.ended"}
    return [(node, *made[node], code.get(node), ended.get(node)) for node in sorted(made)]


def outcome(run: Path) -> dict[str, Any]:
    """Return what must be the same of a result: what was chosen and handed in, and the scores of all."""
    result = json.loads((run / "result.json").read_text())
    same = ("chosen_node", "blend", "prediction_source", "score", "hidden_scores")
    sha256 = hashlib.sha256((run / "submission.csv").read_bytes()).hexdigest()
    return {name: result[name] for name in same} | {"file": sha256}


class Memory:
    """Remembers the events of runs, so that a lost or changed one is seen."""

    def __init__(self) -> None:
        self._seen: dict[Path, list[Event]] = {}

    def look(self, out: Path) -> None:
        """Compare with what was there before, and remember."""
        for run in out.glob("*/"):
            now, before = events(run), self._seen.get(run, [])
            assert now[: len(before)] == before, f"an event was lost or changed in {run.name}"
            assert [e["id"] for e in now] == list(range(1, len(now) + 1))
            self._seen[run] = now


def check(world: World, *, slots: int, calls_at_once: int = 8) -> dict[str, int]:
    """Check all that must hold of a world whose runs have ended, and return figures."""
    figures = Counter[str]()
    for folder in run_folders([world.out]):
        result = json.loads(folder.result.read_text())
        assert result["status"] == "finished", result["stopped_by"]
        assert result["valid_submission"], result["prediction_note"]
        told = events(folder.path)
        with Store.open(folder.database, SystemClock()) as store:
            assert from_events(store.export_events(result["run_id"])) == from_rows(store, result["run_id"])
        crashed = [e for e in told if e["type"] == "worker.crashed"]
        assert not crashed, crashed
        assert not [e for e in told if e["type"] == "node.ended" and e["status"] == "failed"]
        figures += _charges(told, result)
        _outward_acts(told)
        figures.update(nodes=result["nodes"], events=len(told), executions=result["executions"])
        unended = [e["node"] for e in told if e["type"] == "node.created"]
        assert sorted(unended) == sorted(e["node"] for e in told if e["type"] == "node.ended"), "a node never ended"
    answered = len(world.endpoint.requests)
    lost = answered - figures["requests_answered"]
    assert lost <= world.kills * max(slots, calls_at_once), "more was asked again than was in flight at the kills"
    nothing_left(world)
    return {**figures, "asked_again": max(0, lost)}


def _charges(told: Sequence[Event], result: dict[str, Any]) -> Counter[str]:
    """No answered prompt was paid twice, and what was paid is what was charged."""
    paid = [e for e in told if e["type"] == "model.called" and e["completion_tokens"] > 0]
    twice = [step for step, count in Counter(e["step"] for e in paid).items() if count > 1]
    assert not twice, f"paid twice: {twice}"
    charged = [e for e in told if e["type"] == "ledger.charged" and e["kind"] == "tokens"]
    assert sum(e["cost_usd"] or 0.0 for e in charged) == pytest.approx(sum(e["cost_usd"] or 0.0 for e in paid))
    assert result["llm"]["cost_usd"] == pytest.approx(sum(e["cost_usd"] or 0.0 for e in paid))
    return Counter(requests_answered=len(paid))


def _outward_acts(told: Sequence[Event]) -> None:
    """Each handing in has a tag of its own, and none is done twice."""
    tags = [e["tag"] for e in told if e["type"] == "submission.added"]
    assert len(tags) == len(set(tags)) >= 1


def nothing_left(world: World) -> None:
    """No process, no work folder, nothing that the next start would have to clean up."""
    assert find_orphaned_resources(world.out) == []
    assert list(world.out.glob("*/executions/*/.execution")) == []
    assert [p.pid for p in _processes_in(world.place)] == []


def _processes_in(place: Path) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE and Path(process.cwd()).is_relative_to(place):
                yield process
