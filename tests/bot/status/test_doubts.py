"""Doubts: the latest that guards found, with the node or the data that they are about."""

from bot.cli.status_lines import doubt_lines
from bot.evaluation.answers.findings import not_run, passed, suspicious
from bot.execution.guarding import record_findings
from bot.status.work import doubts
from state.progress import create_node, end_node
from state.store import Store
from tests.state.rows import create_run


def test_what_did_not_pass_is_shown_latest_first_and_nothing_else(store: Store) -> None:
    with store.write() as tx:
        create_run(tx, "r", competition="wine", agent="aide", model="m", seed=0, cutoff=None)
        create_node(tx, "r", action="draft", id=4)
        record_findings(tx, "r", [passed("ids", "fine"), suspicious("time", "the future is known")])
        record_findings(tx, "r", [passed("too good", "it is not")], node=4)
        record_findings(tx, "r", [not_run("copied", "it broke"), suspicious("constant", "all alike")], node=4)
    with store.read() as session:
        found = doubts(session, "r")
    assert [(one.node, one.sentence) for one in found] == [
        (4, "copied (not run): it broke; constant (suspicious): all alike"),
        (None, "time (suspicious): the future is known"),
    ]
    first, second = (" ".join(line.split()) for line in doubt_lines(found))
    assert first == "doubts node 4: copied (not run): it broke; constant (suspicious): all alike"
    assert second == "doubts the data: time (suspicious): the future is known"


def test_scores_that_nobody_has_checked_come_first(store: Store) -> None:
    with store.write() as tx:
        create_run(tx, "r", competition="masks", agent="aide", model="m", seed=0, cutoff=None)
        create_node(tx, "r", action="draft", id=1)
        record_findings(tx, "r", [not_run("copied", "it broke")], node=1)
        end_node(tx, "r", 1, "valid", score=0.5, self_reported=True)
    with store.read() as session:
        first, second = doubts(session, "r")
    assert first.node is None and "self-reported" in first.sentence
    assert second.node == 1
