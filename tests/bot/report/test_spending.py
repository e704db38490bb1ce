"""What each role of the model spent, and what came of its answers."""

import pytest

from bot.engine.run_record import RunRecord
from bot.evaluation.answers import NodeScore
from bot.execution.folder import RunFolder
from bot.execution.record import EXECUTED, GUARDED
from bot.models.sections import ROLES
from bot.report.result import RoleFigures, read_result
from bot.report.spending import by_role
from state.knowledge import add_idea
from state.progress import create_node, end_node
from state.spending import charge
from state.steps import Key, finish_step, start_step
from state.store import Store, Transaction
from tests.bot.execution.ended import ended
from tests.bot.replay.conftest import Finished, comind_run
from tests.state.conftest import START, clock, run_id, store
from tests.state.rows import add_analysis, add_draft, add_report

__all__ = ["clock", "comind_run", "run_id", "store"]


def figures(store: Store, run: str) -> dict[str, RoleFigures]:
    with store.read() as session:
        return {one.role: one for one in by_role(RunRecord.load(session, run))}


def script(tx: Transaction, run: str, id: int, score: float | None, of: int) -> None:
    """Write a script with a score whose noise is 0.01, or with none."""
    create_node(tx, run, id=id, action="draft", draft_id=str(of))
    scored = None if score is None else NodeScore(score, 0.01)
    start_step(tx, run, EXECUTED, Key(id, GUARDED))
    finish_step(tx, run, EXECUTED, ended(score=scored), Key(id, GUARDED))
    end_node(tx, run, id, "buggy" if score is None else "valid", score=score)


@pytest.fixture
def filled(store: Store, run_id: str) -> Store:
    """A run in which each role was asked twice: of two drafts with an idea from a post each, one gained beyond noise."""
    with store.write() as tx:
        for role in ROLES:
            spent = {"prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 3, "cost_usd": 0.5, "seconds": 2.0}
            charge(tx, run_id, "tokens", role=role, model="large", **spent)
            charge(
                tx, run_id, "tokens", role=role, model="small", **spent | {"cost_usd": None if role == "coder" else 1.0}
            )
        for item in ("1", "2", "3", "4"):
            suggestions = [] if item == "4" else ["try it"]
            kept = {"summary": "s", "suggestions": suggestions, "known_at": START}
            add_analysis(tx, run_id, f"message/{item}", post_kind="message", post_id=item, **kept)
        for item in ("1", "2", "3"):
            add_idea(tx, run_id, text="i", sources=[f"message/{item}"], known_at=START)
        create_node(tx, run_id, id=1, action="draft")
        end_node(tx, run_id, 1, "valid", score=0.9)
        for number in (1, 2, 3):
            used = [number] if number < 3 else []
            add_draft(tx, run_id, str(number), title="t", description="d", idea_ids=used, known_at=START)
        script(tx, run_id, 2, 0.7, 1)
        script(tx, run_id, 3, 0.69, 2)
        script(tx, run_id, 4, None, 2)
        parts = [{"name": "a", "gain": 0.1}, {"name": "b", "gain": None}]
        add_report(tx, run_id, "2", draft_id="1", title="t", method="m", components=parts, known_at=START)
    return store


def test_calls_tokens_money_and_time_add_up_by_role(filled: Store, run_id: str):
    found = figures(filled, run_id)
    assert tuple(found) == ROLES
    one = found["analyst"]
    assert (one.calls, one.prompt_tokens, one.cached_tokens, one.completion_tokens) == (2, 20, 8, 6)
    assert (one.models, one.cost_usd, one.seconds) == (("large", "small"), 1.5, 4.0)


def test_a_cost_of_which_a_part_is_unknown_is_unknown(filled: Store, run_id: str):
    assert figures(filled, run_id)["coder"].cost_usd is None


@pytest.mark.parametrize(
    ("role", "counts"),
    [
        ("analyst", [4, 3, 3, 2, 1]),
        ("proposer", [3, 0, 2, 1]),
        ("coordinator", [3, 2, 1]),
        ("coder", [3, 2, 0]),
        ("reporter", [1, 2, 1]),
        ("reviewer", []),
    ],
)
def test_what_came_of_a_roles_answers_is_counted(filled: Store, run_id: str, role: str, counts: list[int]):
    assert list(figures(filled, run_id)[role].came_of.values()) == counts


@pytest.mark.integration
def test_a_finished_runs_result_has_all_its_calls_by_role(comind_run: Finished):
    result = read_result(RunFolder(comind_run.folder))
    assert {"analyst", "proposer", "coordinator", "coder"} <= {one.role for one in result.roles}
    assert sum(one.calls for one in result.roles) == result.llm.calls
    assert sum(one.prompt_tokens for one in result.roles) == result.llm.prompt_tokens
    coder = next(one for one in result.roles if one.role == "coder")
    assert coder.came_of["scripts"] == result.nodes - 1
    assert coder.seconds > 0
