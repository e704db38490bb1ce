"""Retrieval: labels, similarity within labels, never what is younger than the clock or of the same competition."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bot.knowledge.base import KnowledgeBase
from bot.knowledge.entry import Entry, Source
from bot.knowledge.labels import labels
from bot.knowledge.retrieval import ranked
from bot.knowledge.similarity import WordSimilarity

SOURCE = Source(title="A source", path="runs/one", licence="CC0-1.0")
TIMES = st.integers(0, 4000).map(lambda day: datetime(2015, 1, 1, tzinfo=UTC) + timedelta(days=day))
SLUGS = st.sampled_from(["one", "two", "three"])


def entry(id: str, claim: str, **given) -> Entry:
    facts = {
        "kind": "trick",
        "title": id.replace("-", " "),
        "labels": ("tabular/regression",),
        "known_at": datetime(2020, 1, 1, tzinfo=UTC),
        "sources": (SOURCE,),
        "support": "reported",
        "evidence": "One source.",
    }
    return Entry.model_validate({**facts, "id": id, "claim": claim, **given})


@given(
    known=st.lists(st.tuples(TIMES, st.lists(SLUGS, max_size=2)), min_size=1, max_size=12),
    as_of=TIMES,
    working_on=SLUGS,
)
def test_nothing_younger_than_the_clock_and_nothing_of_the_same_competition_is_visible(known, as_of, working_on):
    entries = tuple(
        entry(f"entry-{n}", "A claim that is long enough.", known_at=at, competitions=tuple(slugs))
        for n, (at, slugs) in enumerate(known)
    )
    shown = KnowledgeBase(entries).visible(working_on, as_of)
    assert all(one.known_at <= as_of and working_on not in one.competitions for one in shown)
    hidden = [one for one in entries if one not in shown]
    assert all(one.known_at > as_of or working_on in one.competitions for one in hidden)


async def test_entries_of_earlier_labels_come_first_and_within_a_label_the_more_similar():
    entries = [
        entry("far", "Blend folds and seeds of many networks.", labels=("audio/sound-events",)),
        entry("near", "Mel spectrograms of bird calls with mixup.", labels=("audio/sound-events",)),
        entry("other", "Bird calls again, but filed under tables.", labels=("tabular/regression",)),
    ]
    found = await ranked(
        entries, ["audio/sound-events", "tabular/regression"], "which birds call in a recording", WordSimilarity()
    )
    assert [one.id for one in found] == ["near", "far", "other"]


async def test_a_text_is_most_like_itself_and_unlike_one_without_a_common_word():
    scores = await WordSimilarity().scores(
        "target encoding of categories", ["target encoding of categories", "birds sing"]
    )
    assert scores[0] > 0.9
    assert scores[1] == 0.0


def test_there_are_eleven_top_categories():
    assert len({name.split("/")[0] for name in labels()}) == 11
