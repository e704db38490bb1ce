"""The audit dates what closed an idea, too: not before the idea, nor before what took its place."""

from datetime import timedelta
from pathlib import Path

from sqlmodel import select

from bot.replay.true_times import derived_too_early, true_times
from state.knowledge import add_idea, close_idea
from state.progress import create_run
from state.store import Store
from state.tables import Idea
from tests.state.conftest import START, StandingClock

LATER = START + timedelta(hours=1)


def test_an_idea_that_is_closed_before_what_took_its_place_was_known_is_found(tmp_path: Path) -> None:
    with Store.open(tmp_path / "state.db", StandingClock(as_of=LATER)) as store:
        with store.write() as tx:
            create_run(tx, "r", competition="c", agent="comind", model="m", seed=0, cutoff=LATER)
            for known_at in (START, LATER):
                add_idea(tx, "r", text="a forest", sources=[], known_at=known_at)
            close_idea(tx, "r", 1, "merged", reason="the same", known_at=LATER, successors=[2])
        assert derived_too_early(store, "r", true_times(store, "r", "c")) == []
        with store.write() as tx:
            first = tx.session.exec(select(Idea).where(Idea.id == 1)).one()
            first.closed_at = START
            tx.session.add(first)
        (found,) = derived_too_early(store, "r", true_times(store, "r", "c"))
        assert found.startswith("idea/1 as merged is of") and "idea/2" in found
