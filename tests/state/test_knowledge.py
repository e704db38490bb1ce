"""What a run has derived obeys the clock as posts do."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import StatementError
from sqlmodel import select

from state.knowledge import add_idea, add_reproduction, analyses, close_idea, drafts, ideas, reports, reproductions
from state.store import Store, Transaction
from state.tables import IdeaUse, Reproduction
from tests.state.communities import HOURS
from tests.state.conftest import START, StandingClock
from tests.state.rows import add_analysis, add_draft, add_report

END = START + timedelta(days=1)
_numbers = count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples; each is a run of its own in it."""
    path: Path = tmp_path_factory.mktemp("knowledge") / "state.db"
    with Store.open(path, StandingClock(as_of=END)) as store:
        yield store


def add_one_of_each(tx: Transaction, run: str, id: str, known_at: datetime) -> None:
    add_analysis(tx, run, id, post_kind="message", post_id="1", summary="s", known_at=known_at)
    add_idea(tx, run, text="i", sources=["message/1"], known_at=known_at)
    add_draft(tx, run, id, title="t", description="d", idea_ids=[1], known_at=known_at)
    add_report(tx, run, id, draft_id=id, title="t", method="m", known_at=known_at)
    add_reproduction(tx, Reproduction(run_id=run, id=id, title="t", state="ran", known_at=known_at))


@pytest.mark.integration
@settings(max_examples=25)
@given(times=st.lists(HOURS, max_size=5), as_of=HOURS)
def test_what_was_derived_from_later_things_is_not_seen_and_all_else_is(shared, times, as_of) -> None:
    run = f"run {next(_numbers)}"
    with shared.write() as tx:
        for n, known_at in enumerate(times):
            add_one_of_each(tx, run, str(n), known_at)
    wanted = [known_at for known_at in times if known_at <= as_of]
    assert [row.known_at for row in analyses(shared, run, as_of)] == wanted
    assert [row.known_at for row in ideas(shared, run, as_of)] == wanted
    assert [row.known_at for row in drafts(shared, run, as_of)] == wanted
    assert [row.known_at for row in reports(shared, run, as_of)] == wanted
    assert [row.known_at for row in reproductions(shared, run, as_of)] == wanted


def test_nothing_can_be_derived_from_after_the_clock(store: Store, run_id: str, clock: StandingClock) -> None:
    late = clock.as_of() + timedelta(microseconds=1)
    with store.write() as tx:
        with pytest.raises(ValueError, match="is later than"):
            add_analysis(tx, run_id, "a", post_kind="message", post_id="1", summary="s", known_at=late)
        with pytest.raises(ValueError, match="is later than"):
            add_idea(tx, run_id, text="i", sources=[], known_at=late)
        with pytest.raises(ValueError, match="is later than"):
            add_draft(tx, run_id, "d", title="t", description="d", idea_ids=[], known_at=late)
        with pytest.raises(ValueError, match="is later than"):
            add_report(tx, run_id, "r", draft_id=None, title="t", method="m", known_at=late)
        with pytest.raises(ValueError, match="is later than"):
            add_reproduction(tx, Reproduction(run_id=run_id, id="k", title="t", state="ran", known_at=late))
    assert ideas(store, run_id, late) == []


def test_runs_do_not_see_each_others_knowledge(store: Store, run_id: str) -> None:
    with store.write() as tx:
        add_one_of_each(tx, run_id, "1", START)
    assert len(ideas(store, run_id, END)) == 1
    assert [f(store, "another", END) for f in (analyses, ideas, drafts, reports, reproductions)] == [[]] * 5


def test_a_draft_names_the_ideas_it_uses_and_can_be_revised(store: Store, run_id: str) -> None:
    def uses() -> list[int]:
        with store.read() as session:
            return sorted(use.idea_id for use in session.exec(select(IdeaUse).where(IdeaUse.draft_id == "d")))

    for idea_ids in ([1, 2, 2], [2, 3]):
        with store.write() as tx:
            add_draft(tx, run_id, "d", title="t", description="d", idea_ids=idea_ids, known_at=START)
        assert uses() == sorted(set(idea_ids))
    assert len(drafts(store, run_id, END)) == 1


def test_ideas_are_numbered_and_a_closed_one_keeps_its_row_and_is_live_at_earlier_times(store, run_id) -> None:
    later, earlier = START, START - timedelta(hours=1)
    with store.write() as tx:
        add_idea(tx, run_id, text="one", sources=["message/1"], known_at=earlier)
        add_idea(tx, run_id, text="two", sources=["report/r1"], known_at=earlier)
        close_idea(tx, run_id, 2, "merged", reason="the same", known_at=later, successors=[1])
    rows = ideas(store, run_id, later)
    assert [(row.id, row.text, row.state, row.successors) for row in rows] == [
        (1, "one", "live", []),
        (2, "two", "merged", [1]),
    ]
    assert [(row.state, row.reason) for row in ideas(store, run_id, earlier)] == [("live", ""), ("live", "")]
    with store.write() as tx, pytest.raises(ValueError, match="idea 2 cannot be retired"):
        close_idea(tx, run_id, 2, "retired", reason="again", known_at=later)
    with store.write() as tx, pytest.raises(ValueError, match="is later than"):
        close_idea(tx, run_id, 1, "retired", reason="late", known_at=store.clock.as_of() + timedelta(seconds=1))


def test_what_is_derived_is_recorded_as_an_event(store: Store, run_id: str) -> None:
    with store.write() as tx:
        add_one_of_each(tx, run_id, "1", START)
    events = [event["type"] for event in store.export_events(run_id)][1:]
    assert events == ["analysis.added", "idea.added", "draft.added", "report.added", "kernel.reproduced"]


def test_a_time_without_a_zone_is_no_clock(store: Store, run_id: str) -> None:
    with pytest.raises(StatementError, match="timezone"):
        ideas(store, run_id, END.replace(tzinfo=None))
