"""Random communities for property tests, and a plain reading of the rules to compare views with."""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from state.tables import CommunityRow, KernelVersion, Observation, PostedMessage, Topic
from tests.state.conftest import START

# Few hours and few values, so that equal times and ties come up often.
HOURS = st.integers(0, 12).map(lambda hours: START + timedelta(hours=hours))
_votes = st.none() | st.integers(0, 4)
_score = st.none() | st.sampled_from([0.1, 0.2, 0.3])
_tier = st.none() | st.sampled_from(["EXPERT", "MASTER", "NOVICE"])
_ids = st.integers(1, 5).map(str)

_topic = st.fixed_dictionaries({"id": _ids, "posted_at": st.none() | HOURS, "votes": _votes, "tier": _tier})
_message = st.fixed_dictionaries(
    {
        "id": st.integers(1, 9).map(str),
        "topic_id": _ids,
        "parent_id": st.none() | st.integers(1, 9).map(str),
        "posted_at": st.none() | HOURS,
        "edited_at": st.none() | HOURS,
        "deleted": st.sampled_from([False, False, False, True]),
        "votes": _votes,
        "tier": _tier,
    }
)
_kernel = st.fixed_dictionaries(
    {
        "id": st.integers(1, 9).map(str),
        "ref": st.sampled_from(["ann/bayes", "bob/trees"]),
        "version": st.none() | st.integers(1, 4),
        "created_at": st.none() | HOURS,
        "votes": _votes,
        "public_score": _score,
        "tier": _tier,
    }
)
_observation = st.fixed_dictionaries(
    {
        "target": st.sampled_from(["topic", "message", "kernel"]),
        "target_id": st.integers(1, 9).map(str),
        "at": HOURS,
        "votes": _votes,
        "public_score": _score,
        "tier": _tier,
    }
)


@st.composite
def communities(draw: st.DrawFn) -> list[CommunityRow]:
    """Draw rows of one community, ids unique within their table, in any order; a text names its row and its time."""

    def drawn(what: st.SearchStrategy[dict[str, Any]], most: int) -> list[dict[str, Any]]:
        return draw(st.lists(what, max_size=most, unique_by=lambda row: row["id"]))

    rows: list[CommunityRow] = []
    rows += [Topic(competition="", title=f"topic {r['id']}", **r) for r in drawn(_topic, 5)]
    rows += [PostedMessage(competition="", markdown=f"{r['id']} of {message_time(r)}", **r) for r in drawn(_message, 9)]
    rows += [KernelVersion(competition="", text=f"{r['id']} of {r['created_at']}", **r) for r in drawn(_kernel, 9)]
    rows += [Observation(competition="", **r) for r in draw(st.lists(_observation, max_size=15))]
    return draw(st.permutations(rows))


def message_time(row: dict[str, Any]) -> datetime | None:
    """Return the time from which a message's text is known, None if never."""
    if row["posted_at"] is None:
        return None
    return max(row["posted_at"], row["edited_at"] or row["posted_at"])


def in_competition(rows: list[CommunityRow], competition: str) -> list[CommunityRow]:
    """Return copies of the rows in a competition."""
    return [type(row)(**row.model_dump() | {"competition": competition}) for row in rows]


def before(rows: list[CommunityRow], as_of: datetime) -> list[CommunityRow]:
    """Return only what had happened by then: the world as it was, its collected values left as they are."""
    kept: list[CommunityRow] = []
    for row in rows:
        if isinstance(row, Topic):
            time = row.posted_at
        elif isinstance(row, PostedMessage):
            time = message_time(row.model_dump())
        elif isinstance(row, KernelVersion):
            time = row.created_at
        else:
            time = row.at
        if time is not None and time <= as_of:
            kept.append(row)
    return kept


def expected_signal(rows: list[CommunityRow], row: Any, target: str, field: str, as_of: datetime, own: bool) -> Any:
    """Return a field by the letter of the rules: its latest reading by then, else (`own`) the row's own value."""
    readings = [
        (o.at, getattr(o, field))
        for o in rows
        if isinstance(o, Observation) and (o.target, o.target_id) == (target, row.id) and o.at <= as_of
    ]
    readings = [reading for reading in readings if reading[1] is not None]
    if readings:
        return max(readings)[1]
    return getattr(row, field) if own else None
