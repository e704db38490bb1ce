"""What came of each post, and how much ideas and drafts gained."""

import pytest

from bot.engine.run_record import RunRecord
from bot.report.credits import Credits, MeasuredGain, measure_credits
from state.knowledge import add_idea, add_reproduction, close_idea
from state.progress import create_node, end_node
from state.store import Store, Transaction
from state.tables import Reproduction, Submission
from tests.state.conftest import START, clock, run_id, store
from tests.state.rows import add_draft, add_report

__all__ = ["clock", "run_id", "store"]


def script(tx: Transaction, run: str, id: int, score: float | None, draft: int | None = None, *parents: int) -> None:
    create_node(tx, run, id=id, action="draft", parents=parents, draft_id=draft and str(draft), plan=f"plan {id}")
    end_node(tx, run, id, "buggy" if score is None else "valid", score=score)


def draft(tx: Transaction, run: str, id: int, ideas: list[int], on: int | None = None) -> None:
    kept = {"title": f"draft {id}", "description": "d", "known_at": START}
    add_draft(tx, run, str(id), idea_ids=ideas, codebase_node=on, **kept)


def idea(tx: Transaction, run: str, *sources: str) -> None:
    add_idea(tx, run, text="try it", sources=list(sources), known_at=START)


def submit(tx: Transaction, run: str, node: int) -> None:
    tx.add(Submission(run_id=run, id="1", node=node, tag=run, status="confirmed", prediction_source="blend", at=START))


def read(store: Store, run: str) -> Credits:
    with store.read() as session:
        return measure_credits(RunRecord.load(session, run))


@pytest.fixture
def small(store: Store, run_id: str) -> Credits:
    """Two drafts of three ideas of a topic and a kernel; the second is built on the kernel as it was reproduced."""
    with store.write() as tx:
        script(tx, run_id, 1, 0.9)
        for sources in (["topic/1"], ["topic/1", "kernel/4"], ["kernel/4", "report/2"]):
            idea(tx, run_id, *sources)
        draft(tx, run_id, 1, [1, 2])
        script(tx, run_id, 2, 0.7, 1)
        script(tx, run_id, 3, 0.6, 1, 2)
        create_node(tx, run_id, id=4, action="reproduce", parents=[], plan="Bayes")
        kernel = Reproduction(run_id=run_id, id="kernel/4", title="Bayes", state="ran", node=4, known_at=START)
        add_reproduction(tx, kernel)
        draft(tx, run_id, 2, [], on=4)
        script(tx, run_id, 5, 0.65, 2)
        create_node(tx, run_id, id=6, action="ensemble", parents=[2, 3])
        parts = [
            {"name": "a", "idea": 1, "gain": 0.01, "gain_error": 0.002},
            {"name": "b", "idea": 1, "gain": 0.03, "gain_error": 0.02},
        ]
        add_report(tx, run_id, "2", draft_id="1", title="t", method="m", components=parts, known_at=START)
        submit(tx, run_id, 6)
    return read(store, run_id)


def test_a_post_is_credited_with_its_ideas_the_drafts_that_used_them_and_what_was_built_on_it(small: Credits) -> None:
    topic, kernel = small.posts["topic/1"], small.posts["kernel/4"]
    assert (topic.ideas, topic.drafts, topic.submitted) == ((1, 2), ("1",), True)
    assert (kernel.ideas, kernel.drafts, kernel.submitted) == ((2, 3), ("1", "2"), True)
    assert list(small.posts) == ["topic/1", "kernel/4"], "the most useful first, and no report"


def test_an_idea_has_its_best_measured_gain_and_a_draft_that_over_all_that_others_had_scored_before(
    small: Credits,
) -> None:
    assert small.posts["topic/1"].idea_gain == MeasuredGain(0.03, 0.02)
    assert small.posts["kernel/4"].idea_gain is None
    assert small.draft_gains == {"1": MeasuredGain(pytest.approx(0.3)), "2": MeasuredGain(pytest.approx(-0.05))}


def test_a_gain_is_beyond_noise_by_more_than_two_standard_errors_which_are_known() -> None:
    gains = [MeasuredGain(value, error).beyond_noise for value, error in ((0.3, 0.1), (0.2, 0.1), (0.3, None))]
    assert gains == [True, False, False]


def test_the_sources_of_an_idea_that_was_merged_are_credited_with_the_one_that_took_its_place(
    store: Store, run_id: str
) -> None:
    with store.write() as tx:
        idea(tx, run_id, "kernel/1")
        idea(tx, run_id, "kernel/2")
        idea(tx, run_id, "kernel/3")
        close_idea(tx, run_id, 1, "merged", reason="the same", known_at=START, successors=[2])
        draft(tx, run_id, 1, [2])
        script(tx, run_id, 2, 0.5, 1)
        submit(tx, run_id, 2)
    posts = read(store, run_id).posts
    assert (posts["kernel/1"].ideas, posts["kernel/1"].drafts) == ((1, 2), ("1",))
    assert {item: one.submitted for item, one in posts.items()} == {
        "kernel/1": True,
        "kernel/2": True,
        "kernel/3": False,
    }


def test_what_only_a_report_passed_on_was_not_submitted(store: Store, run_id: str) -> None:
    with store.write() as tx:
        idea(tx, run_id, "topic/1")
        draft(tx, run_id, 1, [1])
        script(tx, run_id, 2, 0.7, 1)
        add_report(tx, run_id, "1", draft_id="1", title="t", method="m", components=[], known_at=START)
        idea(tx, run_id, "report/1")
        draft(tx, run_id, 2, [2])
        script(tx, run_id, 3, 0.5, 2)
        submit(tx, run_id, 3)
    assert not read(store, run_id).posts["topic/1"].submitted


def test_a_run_without_a_community_has_scripts_and_no_posts(store: Store, run_id: str) -> None:
    with store.write() as tx:
        script(tx, run_id, 1, 0.9)
        script(tx, run_id, 2, None, None, 1)
        create_node(tx, run_id, id=3, action="ensemble", parents=[1])
    assert read(store, run_id).posts == {}
