"""The leaderboard watch: after each poll it records where the team stands, and notifies the owner of changes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from sqlmodel import Session

from bot.evaluation.answers.board import MEDALS, Medal, medal_positions
from bot.leaderboard.board import BoardParts, Place, own_place, read_places
from bot.leaderboard.rank import Leaderboard, TeamStanding, is_far, lines_moved, read_leaderboard
from bot.notify import Notice
from bot.notify.outbox import notify
from state.series import last_reading, take_reading
from state.store import Store
from state.tables import Reading

_KIND: Literal["watch"] = "watch"
_NAMES = 10
"""Teams that passed us are named up to this number."""
_MIN_INTERVAL = timedelta(days=1)
"""The shortest time between two notices of moves at the top: a young board moves far every day."""
_MARGIN = 20
"""A medal counts as lost when the rank is past its last place by a twentieth of its places: ranks at the edge waver."""


@dataclass(frozen=True)
class _Notified:
    rank: int | None = None
    medal: Medal | None = None
    private: bool = False
    rival_lines: Mapping[str, float] = field(default_factory=dict)
    lines_at: datetime | None = None
    """When the last notice of their moves was written; None: never."""
    parts: BoardParts = field(default_factory=BoardParts)
    """The board of that rank."""


class _Record(BaseModel):
    """What a reading of the watch holds."""

    # A later version may have written more fields.
    model_config = ConfigDict(extra="ignore", frozen=True)

    standing: TeamStanding
    notified: _Notified


def watch_board(
    store: Store, competition: str, lower_is_better: bool, *, run_id: str | None = None
) -> TeamStanding | None:
    """Record where the team stands and notify the owner, in one transaction; call it after each poll.

    Calling it again without a new poll changes nothing. None: neither a board nor anything about us was read yet.
    """
    # What a power cut loses is made again from the same polls.
    with store.write(durable=False) as tx:
        leaderboard = read_leaderboard(tx.session, competition, tx.now(), lower_is_better=lower_is_better)
        if leaderboard is None:
            return None
        row = last_reading(tx.session, competition, _KIND)
        before = _read_record(row)
        standing, notified = leaderboard.standing, before.notified if before else _Notified()
        notices = _notices(tx.session, leaderboard, notified)
        notified = _notified_after(notified, leaderboard, notices, tx.now())
        record = _Record(standing=standing, notified=notified)
        # The time of the reading is that of the standing.
        data = record.model_dump(mode="json", exclude={"standing": {"competition", "since"}})
        is_new = take_reading(tx, competition, _KIND, "", data, served_at=leaderboard.shown_at)
        if not is_new and row is not None:
            return replace(standing, since=row.at)
        for notice in notices:
            notify(tx, notice, run_id)
        return standing


def standing_of(store: Store, competition: str) -> TeamStanding | None:
    """Return the standing that the watch last recorded, None if it never did."""
    with store.read() as session:
        record = _read_record(last_reading(session, competition, _KIND))
    return record.standing if record else None


def _passers(session: Session, before: BoardParts, leaderboard: Leaderboard) -> list[Place]:
    """Return the teams that are ahead of us now and were not on an earlier board, the best first."""
    if leaderboard.board is None or leaderboard.own_index is None:
        return []
    places, _ = read_places(session, before, lower_is_better=leaderboard.standing.lower_is_better)
    own_index = own_place(places, leaderboard.submissions)
    if own_index is None:
        return []
    team_ids = {place.team_id for place in places[:own_index]}
    return [place for place in leaderboard.board.places[: leaderboard.own_index] if place.team_id not in team_ids]


def _notices(session: Session, leaderboard: Leaderboard, notified: _Notified) -> list[Notice]:
    """Return what has changed since the owner was last notified, as far as it is worth a notice."""
    standing, notices = leaderboard.standing, list[Notice]()
    name, rank, teams = standing.competition, standing.rank, standing.teams
    common: dict[str, Any] = {"rank": rank, "teams": teams, "at": leaderboard.shown_at}
    facts: dict[str, Any]
    if rank is not None and teams is not None:
        switched = standing.private and not notified.private
        if notified.rank is None or (rank != notified.rank and (switched or is_far(notified.rank, rank))):
            fell = notified.rank is not None and rank > notified.rank and not switched
            passers = _passers(session, notified.parts, leaderboard) if fell else []
            facts = {
                **common,
                "earlier": notified.rank,
                "score": standing.score,
                "passed": len(passers),
                "passed_by": [place.team for place in passers[:_NAMES]],
                "private": standing.private,
            }
            notices.append(Notice("leaderboard.rank", name, facts))
        if _is_another_medal(standing, notified):
            facts = {**common, "medal": standing.medal, "earlier": notified.medal, "private": standing.private}
            notices.append(Notice("leaderboard.medal", name, facts))
    is_due = notified.lines_at is None or standing.since - notified.lines_at >= _MIN_INTERVAL
    rivals_before, rivals, lower = notified.rival_lines, standing.rival_lines, standing.lower_is_better
    if is_due and not standing.private and lines_moved(rivals_before, rivals, lower_is_better=lower):
        facts = {
            **common,
            "first_before": rivals_before.get("first"),
            "first": rivals.get("first"),
            "gold_before": rivals_before.get("gold"),
            "gold": rivals.get("gold"),
            "score": standing.score,
        }
        notices.append(Notice("leaderboard.top", name, facts))
    return notices


def _is_another_medal(standing: TeamStanding, notified: _Notified) -> bool:
    if standing.medal == notified.medal or standing.rank is None or standing.teams is None:
        return False
    order = (*MEDALS, None)
    if notified.medal is None or standing.private or order.index(standing.medal) < order.index(notified.medal):
        return True
    end = medal_positions(standing.teams)[MEDALS.index(notified.medal)]
    return standing.rank > end + end // _MARGIN


def _notified_after(
    notified: _Notified, leaderboard: Leaderboard, notices: Sequence[Notice], now: datetime
) -> _Notified:
    """Return what the owner was last notified of, once these notices are sent."""
    standing, kinds = leaderboard.standing, {notice.kind for notice in notices}
    if "leaderboard.rank" in kinds:
        notified = replace(
            notified, rank=standing.rank, parts=leaderboard.board.parts if leaderboard.board else BoardParts()
        )
    if "leaderboard.medal" in kinds:
        notified = replace(notified, medal=standing.medal)
    if "leaderboard.top" in kinds:
        notified = replace(notified, rival_lines=standing.rival_lines, lines_at=now)
    # Moves of a line count from where it was when it first became known.
    lines = {**standing.rival_lines, **notified.rival_lines}
    return replace(notified, rival_lines=lines, private=notified.private or standing.private)


def _read_record(row: Reading | None) -> _Record | None:
    """Read what the watch last recorded; None if another version wrote something we do not understand."""
    if row is None or row.sha256 is None:
        return None
    try:
        standing = {**row.data["standing"], "competition": row.competition, "since": row.at}
        return _Record.model_validate({**row.data, "standing": standing})
    except (KeyError, TypeError, ValidationError):
        return None
