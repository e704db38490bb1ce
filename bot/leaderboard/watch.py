"""The leaderboard watch: after each poll, where the team stands, as a series, with notices to the owner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlmodel import Session

from bot.evaluation.answers.board import MEDALS, Medal, medal_positions
from bot.leaderboard.board import Place, Seen, own_place, read_seen
from bot.leaderboard.rank import Look, Standing, far, lines_moved, look_at
from bot.notify.events import BoardMoved, Event, MedalChanged, RankChanged
from bot.notify.outbox import notify
from state.series import last_reading, take_reading
from state.store import Store
from state.tables import Reading

_KIND: Literal["watch"] = "watch"
_NAMES = 10
"""Of the teams that passed us so many are named."""
_REST = timedelta(days=1)
"""The least time between two notices of moves at the top: a young board moves far every day."""
_MARGIN = 20
"""A medal counts as lost when the rank is past its last place by one in so many of its places: ranks at the edge waver."""


@dataclass(frozen=True)
class _Told:
    """How it stood when the owner was told last."""

    rank: int | None = None
    medal: Medal | None = None
    private: bool = False
    others: Mapping[str, float] = field(default_factory=dict)
    """The lines of the others."""
    lines_at: datetime | None = None
    """When a move of them was told; None: never."""
    seen: Seen = field(default_factory=Seen)
    """The board of that rank."""


class _Kept(BaseModel):
    """What a reading of the watch holds."""

    # One of a later version may say more.
    model_config = ConfigDict(extra="ignore", frozen=True)

    standing: Standing
    told: _Told


def watch_board(store: Store, competition: str, lower_is_better: bool, *, run_id: str | None = None) -> Standing | None:
    """Take down where the team stands, and what the owner is to be told of it, in one transaction; call it after each poll.

    Called again while nothing was polled it changes nothing.

    Args:
        store: where polls are stored.
        competition: the competition.
        lower_is_better: the metric's direction.
        run_id: the run that notices are of.

    Returns:
        How it stands; None while neither a board nor anything about us was read.
    """
    # Whatever a power cut takes of it is made again from the same polls.
    with store.write(durable=False) as tx:
        look = look_at(tx.session, competition, tx.now(), lower_is_better=lower_is_better)
        if look is None:
            return None
        row = last_reading(tx.session, competition, _KIND)
        before = _kept(row)
        standing, told = look.standing, before.told if before else _Told()
        events = _events(tx.session, look, told)
        told = _told_after(told, look, events, tx.now())
        kept = _Kept(standing=standing, told=told)
        if not take_reading(tx, competition, _KIND, "", _written(kept), served_at=look.shown_at) and row is not None:
            return replace(standing, at=row.at)
        for event in events:
            notify(tx, event.notice(run_id))
        return standing


def standing_of(store: Store, competition: str) -> Standing | None:
    """Return how it stood when it was looked at last, None where that never was."""
    with store.read() as session:
        kept = _kept(last_reading(session, competition, _KIND))
    return kept.standing if kept else None


def _passers(session: Session, before: Seen, look: Look) -> list[Place]:
    """Return the teams that are before us now and were not on an earlier board, the best first."""
    if look.board is None or look.own is None:
        return []
    places, _ = read_seen(session, before, lower_is_better=look.standing.lower_is_better)
    own = own_place(places, look.sent)
    if own is None:
        return []
    known = {place.team_id for place in places[:own]}
    return [place for place in look.board.places[: look.own] if place.team_id not in known]


def _events(session: Session, look: Look, told: _Told) -> list[Event]:
    """Return what the owner is to be told, now that it was last told so."""
    standing, found = look.standing, list[Event]()
    name, rank, teams, at = standing.competition, standing.rank, standing.teams, look.shown_at
    if rank is not None and teams is not None:
        switched = standing.private and not told.private
        if told.rank is None or (rank != told.rank and (switched or far(told.rank, rank))):
            fell = told.rank is not None and rank > told.rank and not switched
            passers = _passers(session, told.seen, look) if fell else []
            names = tuple(place.team for place in passers[:_NAMES])
            found.append(
                RankChanged(name, rank, told.rank, teams, standing.score, at, len(passers), names, standing.private)
            )
        if _is_another_medal(standing, told):
            found.append(MedalChanged(name, standing.medal, told.medal, rank, teams, at, standing.private))
    if _is_large(standing, told, standing.at):
        first, gold = ((told.others.get(line), standing.others.get(line)) for line in ("first", "gold"))
        found.append(BoardMoved(name, *first, *gold, standing.score, rank, teams, at))
    return found


def _is_another_medal(standing: Standing, told: _Told) -> bool:
    if standing.medal == told.medal or standing.rank is None or standing.teams is None:
        return False
    order = (*MEDALS, None)
    if told.medal is None or standing.private or order.index(standing.medal) < order.index(told.medal):
        return True
    end = medal_positions(standing.teams)[MEDALS.index(told.medal)]
    return standing.rank > end + end // _MARGIN


def _is_large(standing: Standing, told: _Told, now: datetime) -> bool:
    if standing.private or (told.lines_at is not None and now - told.lines_at < _REST):
        return False
    return lines_moved(told.others, standing.others, lower_is_better=standing.lower_is_better)


def _told_after(told: _Told, look: Look, events: Sequence[Event], now: datetime) -> _Told:
    """Return how it stood when the owner was told last, these events among it."""
    standing, kinds = look.standing, {type(event) for event in events}
    if RankChanged in kinds:
        told = replace(told, rank=standing.rank, seen=look.seen)
    if MedalChanged in kinds:
        told = replace(told, medal=standing.medal)
    if BoardMoved in kinds:
        told = replace(told, others=standing.others, lines_at=now)
    # Lines that were not known before are where moves are counted from.
    return replace(told, others={**standing.others, **told.others}, private=told.private or standing.private)


def _written(kept: _Kept) -> dict[str, Any]:
    # Since when it stands so is the reading's own time.
    return kept.model_dump(mode="json", exclude={"standing": {"competition", "at"}})


def _kept(row: Reading | None) -> _Kept | None:
    """Read what an earlier look took down; what another version has left, and is not understood, is as none."""
    if row is None or row.sha256 is None:
        return None
    try:
        standing = {**row.data["standing"], "competition": row.competition, "at": row.at}
        return _Kept.model_validate({**row.data, "standing": standing})
    except (KeyError, TypeError, ValidationError):
        return None
