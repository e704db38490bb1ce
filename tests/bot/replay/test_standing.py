"""A finished replay's state can be derived from its events alone."""

import json
from pathlib import Path

import pytest

from state.clock import SystemClock
from state.store import Store
from tests.bot.replay.conftest import Bot, results
from tests.state.derive import from_events, from_rows


@pytest.mark.integration
@pytest.mark.parametrize("agent", ["comind", "aide"])
def test_a_finished_replay_can_be_derived_from_its_events_alone(bot: Bot, tiny: Path, agent: str) -> None:
    options = ("--agent", agent, "--model", "builtin", "--steps", 2, "--sandbox", "process", "--json")
    (result,) = results(bot("replay", tiny, *options))
    run = Path(result["run"])
    with Store.open(run / "state.db", SystemClock()) as store:
        derived, rows = from_events(store.export_events(result["run_id"])), from_rows(store, result["run_id"])
        exported = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
        assert from_events(map(json.loads, exported)) == derived == rows
    assert derived.status == "finished"
    assert {node.status for node in derived.nodes.values()} <= {"valid", "buggy"}
    assert len(derived.nodes) == result["nodes"]
    assert set(derived.steps.values()) == {"finished"}
    assert derived.steps[1, "execute:holdout", 0] == "finished"
    assert all(execution.reason is not None for execution in derived.executions.values())
    assert set(derived.ledger) >= {"tokens", "execution", "submission"}
    assert derived.ledger["execution"].amount == len(derived.executions)
    assert len(derived.submissions) == 1
