"""The leaderboard watch: after each poll it records where the team stands, and notifies the owner of changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlmodel import Session

from bot.evaluation.answers.board import MEDALS, Medal, medal_positions
from bot.leaderboard.board import BoardParts, Place, own_place, read_places
from bot.leaderboard.rank import Leaderboard, Standing, is_far, lines_moved, read_leaderboard
from bot.notify.events import BoardMoved, Event, MedalChanged, RankChanged
from bot.notify.outbox import notify
from state.series import last_reading, take_reading
from state.store import Store
from state.tables import Reading

_KIND: Literal["watch"] = "watch"
_NAMES = 10
"""At most this many of the teams that passed us are named."""
_REST = timedelta(days=1)
"""The shortest time between two notices of moves at the top: a young board moves far every day."""
_MARGIN = 20
"""A medal counts as lost when the rank is past its last place by a twentieth of its places: ranks at the edge waver."""


@dataclass(frozen=True)
class _Notified:
    """What the owner was last notified of."""

    rank: int | None = None
    medal: Medal | None = None
    private: bool = False
    others: Mapping[str, float] = field(default_factory=dict)
    """The other teams' lines."""
    lines_at: datetime | None = None
    """When the last notice of their moves was written; None: never."""
    parts: BoardParts = field(default_factory=BoardParts)
    """The board of that rank."""


class _Record(BaseModel):
    """What a reading of the watch holds."""

    # A later version may have written more fields.
    model_config = ConfigDict(extra="ignore", frozen=True)

    standing: Standing
    notified: _Notified


def watch_board(store: Store, competition: str, lower_is_better: bool, *, run_id: str | None = None) -> Standing | None:
    """Record where the team stands and notify the owner, in one transaction; call it after each poll.

    Calling it again without a new poll changes nothing.

    Args:
        store: where polls are stored.
        competition: the competition.
        lower_is_better: the metric's direction.
        run_id: the run that the notices belong to.

    Returns:
        The standing; None while neither a board nor anything about us was read.
    """
    # Whatever a power cut loses is made again from the same polls.
    with store.write(durable=False) as tx:
        leaderboard = read_leaderboard(tx.session, competition, tx.now(), lower_is_better=lower_is_better)
        if leaderboard is None:
            return None
        row = last_reading(tx.session, competition, _KIND)
        before = _read_record(row)
        standing, notified = leaderboard.standing, before.notified if before else _Notified()
        events = _events(tx.session, leaderboard, notified)
        notified = _notified_after(notified, leaderboard, events, tx.now())
        record = _Record(standing=standing, notified=notified)
        is_new = take_reading(tx, competition, _KIND, "", _as_data(record), served_at=leaderboard.shown_at)
        if not is_new and row is not None:
            return replace(standing, at=row.at)
        for event in events:
            notify(tx, event.notice(run_id))
        return standing


def standing_of(store: Store, competition: str) -> Standing | None:
    """Return the standing that the watch last recorded, None if it never did."""
    with store.read() as session:
        record = _read_record(last_reading(session, competition, _KIND))
    return record.standing if record else None


def _passers(session: Session, before: BoardParts, leaderboard: Leaderboard) -> list[Place]:
    """Return the teams that are ahead of us now and were not on an earlier board, the best first."""
    if leaderboard.board is None or leaderboard.own is None:
        return []
    places, _ = read_places(session, before, lower_is_better=leaderboard.standing.lower_is_better)
    own = own_place(places, leaderboard.sent)
    if own is None:
        return []
    known = {place.team_id for place in places[:own]}
    return [place for place in leaderboard.board.places[: leaderboard.own] if place.team_id not in known]


def _events(session: Session, leaderboard: Leaderboard, notified: _Notified) -> list[Event]:
    """Return what has changed since the owner was last notified, as far as it is worth a notice."""
    standing, found = leaderboard.standing, list[Event]()
    name, rank, teams, at = standing.competition, standing.rank, standing.teams, leaderboard.shown_at
    if rank is not None and teams is not None:
        switched = standing.private and not notified.private
        if notified.rank is None or (rank != notified.rank and (switched or is_far(notified.rank, rank))):
            fell = notified.rank is not None and rank > notified.rank and not switched
            passers = _passers(session, notified.parts, leaderboard) if fell else []
            names = tuple(place.team for place in passers[:_NAMES])
            found.append(
                RankChanged(name, rank, notified.rank, teams, standing.score, at, len(passers), names, standing.private)
            )
        if _is_another_medal(standing, notified):
            found.append(MedalChanged(name, standing.medal, notified.medal, rank, teams, at, standing.private))
    if _is_large(standing, notified, standing.at):
        first, gold = ((notified.others.get(line), standing.others.get(line)) for line in ("first", "gold"))
        found.append(BoardMoved(name, *first, *gold, standing.score, rank, teams, at))
    return found


def _is_another_medal(standing: Standing, notified: _Notified) -> bool:
    if standing.medal == notified.medal or standing.rank is None or standing.teams is None:
        return False
    order = (*MEDALS, None)
    if notified.medal is None or standing.private or order.index(standing.medal) < order.index(notified.medal):
        return True
    end = medal_positions(standing.teams)[MEDALS.index(notified.medal)]
    return standing.rank > end + end // _MARGIN


def _is_large(standing: Standing, notified: _Notified, now: datetime) -> bool:
    if standing.private or (notified.lines_at is not None and now - notified.lines_at < _REST):
        return False
    return lines_moved(notified.others, standing.others, lower_is_better=standing.lower_is_better)


def _notified_after(notified: _Notified, leaderboard: Leaderboard, events: Sequence[Event], now: datetime) -> _Notified:
    """Return what the owner was last notified of, once these events are sent."""
    standing, kinds = leaderboard.standing, {type(event) for event in events}
    if RankChanged in kinds:
        notified = replace(notified, rank=standing.rank, parts=leaderboard.parts)
    if MedalChanged in kinds:
        notified = replace(notified, medal=standing.medal)
    if BoardMoved in kinds:
        notified = replace(notified, others=standing.others, lines_at=now)
    # Moves of a line count from where it was when it first became known.
    return replace(
        notified, others={**standing.others, **notified.others}, private=notified.private or standing.private
    )


def _as_data(record: _Record) -> dict[str, Any]:
    # The reading's own time is since when the team stands there.
    return record.model_dump(mode="json", exclude={"standing": {"competition", "at"}})


def _read_record(row: Reading | None) -> _Record | None:
    """Read what the watch last recorded; None if another version wrote something we do not understand."""
    if row is None or row.sha256 is None:
        return None
    try:
        standing = {**row.data["standing"], "competition": row.competition, "at": row.at}
        return _Record.model_validate({**row.data, "standing": standing})
    except (KeyError, TypeError, ValidationError):
        return None
