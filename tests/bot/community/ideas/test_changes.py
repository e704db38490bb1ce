"""No answer can empty or rewrite the pool: whatever it asks for, every idea keeps its row, and events rebuild the pool."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlmodel import col, select

from bot.community.ideas.changes import PoolChanges
from bot.community.ideas.evidence import IdeaEvidence, pool_evidence
from bot.community.ideas.prompts import IdeasAnswer, Merge, ProposedIdea, Retire, Split
from bot.community.ideas.similarity import Repetitions
from bot.engine.run_record import RunRecord
from state.knowledge import ideas
from state.store import Store
from state.tables import Event, Run
from tests.state.conftest import START, StandingClock
from tests.state.rows import add_draft, add_report

END = START + timedelta(days=1)
RUN = "r"
_runs = count()
TEXTS = (
    *("naive Bayes on words", "logistic regression on character n-grams", "nearest neighbours on components"),
    *("soften the probabilities by a power", "gradient boosting of sentence length", "stack out-of-fold outputs"),
)
NUMBERS = st.integers(1, 9)
PROPOSED = st.builds(
    ProposedIdea, text=st.sampled_from(TEXTS), sources=st.sampled_from([(), ("message/1",), ("kernel/2",)])
)
ANSWERS = st.builds(
    IdeasAnswer,
    add=st.lists(PROPOSED, max_size=4).map(tuple),
    merge=st.lists(
        st.builds(Merge, ideas=st.lists(NUMBERS, min_size=2, max_size=4).map(tuple), text=st.sampled_from(TEXTS)),
        max_size=3,
    ).map(tuple),
    split=st.lists(st.builds(Split, idea=NUMBERS, texts=st.just(("one half", "another half"))), max_size=2).map(tuple),
    retire=st.lists(st.builds(Retire, idea=NUMBERS, why=st.just("it is slow")), max_size=4).map(tuple),
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples; each is a run of its own in it."""
    path: Path = tmp_path_factory.mktemp("pool") / "state.db"
    with Store.open(path, StandingClock(as_of=END)) as store:
        yield store


def pool(store: Store, run: str, as_of: datetime = END) -> dict[int, IdeaEvidence]:
    with store.read() as session:
        return {one.idea.id: one for one in pool_evidence(RunRecord(session, Run(id=run), as_of))}


def change(store: Store, run: str, answer: IdeasAnswer) -> list[str]:
    known = list(pool(store, run).values())
    with store.write() as tx:
        changes = PoolChanges(tx, run, known, END, Repetitions())
        changes.apply(answer, {"message/1": START, "kernel/2": START + timedelta(hours=1)})
    return changes.refused


def added(*texts: str, source: str = "message/1") -> IdeasAnswer:
    return IdeasAnswer(add=tuple(ProposedIdea(text=text, sources=(source,)) for text in texts))


def rebuilt(store: Store, run: str) -> dict[int, dict[str, Any]]:
    """Return what the run's events alone say of its pool."""
    found: dict[int, dict[str, Any]] = {}
    with store.read() as session:
        for event in session.exec(select(Event).where(Event.run_id == run).order_by(col(Event.seq))):
            if event.type == "idea.added":
                found[event.data["idea"]] = {
                    "sources": event.data["sources"],
                    "state": "live",
                    "successors": [],
                    "reason": "",
                }
            if event.type == "idea.closed":
                found[event.data["idea"]] |= {key: event.data[key] for key in ("state", "successors", "reason")}
    return found


@pytest.mark.integration
@settings(max_examples=20)
@given(answers=st.lists(ANSWERS, max_size=5), used=st.sets(NUMBERS, max_size=3))
def test_nothing_is_lost_and_the_events_rebuild_the_pool(shared, answers, used) -> None:
    run = f"run {next(_runs)}"
    change(shared, run, added(*TEXTS[:4]))
    with shared.write() as tx:
        add_draft(tx, run, "1", title="t", description="d", idea_ids=sorted(used), known_at=END)
    for answer in answers:
        before = pool(shared, run)
        change(shared, run, answer)
        after = pool(shared, run)
        assert {n: one.idea.text for n, one in before.items()} == {n: after[n].idea.text for n in before}
        live = {n for n, one in before.items() if one.live}
        gone = {n for n in live if not after[n].live}
        assert len(gone) <= max(1, len(live) // 4)
        assert not gone & used, "drafts go on naming what they are made of"
        assert all(after[n].idea.reason or after[n].idea.state != "retired" for n in gone)
        credited = {source for one in before.values() if one.live for source in one.sources}
        retired = {source for n in gone if after[n].idea.state == "retired" for source in after[n].sources}
        assert credited - retired <= {source for one in after.values() if one.live for source in one.sources}
    rows = {
        row.id: {"sources": row.sources, "state": row.state, "successors": row.successors, "reason": row.reason}
        for row in ideas(shared, run, END)
    }
    assert rebuilt(shared, run) == rows
    assert all(successor in rows for row in rows.values() for successor in row["successors"])


def test_an_idea_that_is_there_in_other_words_gives_its_sources_to_it(shared: Store) -> None:
    change(shared, "same", added("Logistic regression (C=10) on sublinear TF-IDF of character n-grams (2-5)"))
    again = "Character n-gram TF-IDF 2-5 with sublinear tf and a logistic regression C=10"
    change(shared, "same", added(again, source="kernel/2"))
    first, second = pool(shared, "same")[1], pool(shared, "same")[2]
    assert (first.sources, second.idea.state, second.idea.successors) == (("message/1", "kernel/2"), "merged", [1])
    earlier = pool(shared, "same", START).values()
    assert [one.sources for one in earlier] == [("message/1",)], "the kernel is an hour younger"
    change(shared, "same", added(again))
    assert len(pool(shared, "same")) == 2, "there is nothing to join"


def test_ideas_that_differ_in_one_thing_that_matters_stay_apart(shared: Store) -> None:
    texts = ("TF-IDF of words and word pairs, logistic regression", "TF-IDF of words and word pairs, naive Bayes")
    change(shared, "apart", added(*texts, "Gradient boosting on the out-of-fold outputs"))
    assert [one.live for one in pool(shared, "apart").values()] == [True, True, True]


def test_what_was_measured_in_vain_can_be_retired_and_is_not_taken_in_again(shared: Store) -> None:
    change(shared, "vain", added(*TEXTS[:4]))
    with shared.write() as tx:
        add_draft(tx, "vain", "1", title="t", description="d", idea_ids=[1, 2], known_at=START)
        part = {"name": "Bayes", "analysis": "worse", "idea": 1, "gain": -0.01, "gain_error": 0.005}
        add_report(tx, "vain", "2", draft_id="1", title="t", method="m", components=[part], known_at=START)
    retire = IdeasAnswer(retire=(Retire(idea=2, why="dull"), Retire(idea=1, why="measured without a gain")))
    assert change(shared, "vain", retire) == ["cannot retire idea 2: it is closed, or a draft has used it"]
    after = pool(shared, "vain")
    assert (after[1].idea.state, after[1].idea.reason) == ("retired", "measured without a gain")
    assert after[2].live
    refused = change(shared, "vain", added(TEXTS[0], source="kernel/2"))
    assert refused == ["naive Bayes on words: the same as idea 1, which is closed"]


def test_what_is_merged_joins_the_idea_that_a_draft_used_and_a_split_one_leaves_its_sources_to_its_parts(shared):
    change(shared, "ops", added(*TEXTS))
    change(shared, "ops", added("a forest and calibrated outputs", "blend all of them", source="kernel/2"))
    with shared.write() as tx:
        add_draft(tx, "ops", "1", title="t", description="d", idea_ids=[3], known_at=START)
    merge = Merge(ideas=(3, 8), text="rewritten", why="one thing")
    change(
        shared,
        "ops",
        IdeasAnswer(
            merge=(merge,), split=(Split(idea=7, texts=("a forest", "calibrated outputs"), sources=("topic/3",)),)
        ),
    )
    after = pool(shared, "ops")
    assert (after[3].idea.text, after[3].sources) == (TEXTS[2], ("message/1", "kernel/2"))
    assert after[8].idea.successors == [3]
    assert after[7].idea.successors == [9, 10]
    assert [after[n].sources for n in (9, 10)] == [("kernel/2", "topic/3")] * 2
