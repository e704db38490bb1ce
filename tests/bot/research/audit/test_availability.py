"""The audit finds what is dated before what it was made of."""

from datetime import timedelta
from pathlib import Path

from sqlmodel import select

from bot.research.audit.audit import derived_too_early, true_times
from state.community_rows import add_community
from state.knowledge import add_idea, add_reproduction, close_idea
from state.progress import create_node
from state.store import Store
from state.tables import Idea, KernelVersion, Reproduction
from tests.state.conftest import START, StandingClock
from tests.state.rows import add_draft, create_run

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
        assert found.startswith("idea/1 as merged is dated") and "idea/2" in found


def test_a_draft_that_is_dated_before_the_kernel_it_is_built_on_is_found(tmp_path: Path) -> None:
    with Store.open(tmp_path / "state.db", StandingClock(as_of=LATER)) as store:
        with store.write() as tx:
            create_run(tx, "r", competition="c", agent="comind", model="m", seed=0, cutoff=LATER)
            kernel = KernelVersion(competition="c", id="4", ref="bob/bayes", title="Bayes", created_at=LATER)
            add_community(tx, "c", [kernel])
            create_node(tx, "r", id=2, action="reproduce", parents=[])
            made = Reproduction(run_id="r", id="kernel/4", title="Bayes", state="ran", node=2, known_at=LATER)
            add_reproduction(tx, made)
            kept = {"title": "t", "description": "d", "idea_ids": [], "codebase_node": 2}
            add_draft(tx, "r", "1", known_at=LATER, **kept)
            add_draft(tx, "r", "2", known_at=START, **kept)
        (found,) = derived_too_early(store, "r", true_times(store, "r", "c"))
        assert found.startswith("draft/2 is dated") and "kernel/4" in found
