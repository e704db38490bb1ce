"""Where the team stands on the leaderboard as it was polled: rank, medal, score, and where the lines of the medals are."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from sqlmodel import Session

from bot.evaluation.answers.board import MEDALS, Medal, medal_at, medal_positions
from bot.leaderboard.board import Board, Place, Seen, Sent, Stood, best_of, own_place, read_board, sent_files, stood
from state.polling import watermark

_NEAR_SHARE = 0.05
"""A rank that moves by less than this share of itself is much the same; among the first 20 each place counts."""
_FALL_SHARE, _FALL_PLACES = 0.1, 3
"""A fall by this share of the rank, and so many places, is large."""
_LINE_SHARE = 0.1
"""A line that rises by this share of the distance between the medals' and the median's lines has moved far."""


@dataclass(frozen=True)
class Standing:
    """Where the team stands; what is not known is None. Scores are the metric's own, ranks count from 1."""

    competition: str
    at: datetime
    """Our time since when it stands so."""
    lower_is_better: bool
    private: bool
    """Whether it is of the private leaderboard, which is final."""
    rank: int | None
    """None: it has no place."""
    teams: int | None
    score: float | None
    """The best public score, or on the private leaderboard the one that counts."""
    medal: Medal | None = None
    """What the rank is worth."""
    lines: Mapping[str, float] = field(default_factory=dict)
    """Scores of the first team, of the last with each medal, and the median, as far as they are known."""
    others: Mapping[str, float] = field(default_factory=dict)
    """The same of a board without our row, whose moves are never our own doing; nothing on the private one."""


@dataclass(frozen=True)
class Ranked:
    """A rank as the site tells it beside the boards."""

    rank: int
    teams: int | None
    at: datetime
    """Our time at which it was read."""


@dataclass(frozen=True)
class Look:
    """What can be seen of a competition, as far as it was polled."""

    standing: Standing
    sent: Sequence[Sent]
    board: Board | None
    own: int | None
    """The index of our place on the board."""
    shown_at: datetime
    """When the site showed the newest of it."""

    @property
    def seen(self) -> Seen:
        """The bodies that the board is made of."""
        return self.board.seen if self.board else Seen()


def look_at(session: Session, competition: str, now: datetime, *, lower_is_better: bool) -> Look | None:
    """Return what can be seen; None while neither a board nor anything about us was read."""
    board = read_board(session, competition, lower_is_better=lower_is_better)
    facts = _facts(session, competition)
    sent = sent_files(session, competition)
    if board is None and facts is None and not sent:
        return None
    own = own_place(board.places, sent) if board else None
    rank, teams = (facts.reading.data.get(name) if facts else None for name in ("user_rank", "team_count"))
    told = Ranked(rank, teams or None, facts.at) if facts and rank else None
    standing = stands(competition, now, board, sent, own, told, teams=teams or None, lower_is_better=lower_is_better)
    shown = [one.shown_at for one in (board, facts) if one is not None]
    return Look(standing, sent, board, own, max(shown, default=now))


def _facts(session: Session, competition: str) -> Stood | None:
    return stood(session, competition, "standing", "", watermark(session, "", "competitions").at)


def stands(
    competition: str,
    at: datetime,
    board: Board | None,
    sent: Sequence[Sent],
    own: int | None,
    told: Ranked | None,
    *,
    teams: int | None,
    lower_is_better: bool,
) -> Standing:
    """Return where the team stands.

    Args:
        competition: the competition.
        at: our time.
        board: as it was read last; None: never.
        sent: our submissions.
        own: the index of our place on the board.
        told: counts where it is newer than our place on the board, or there is none.
        teams: how many there are, where the board does not show all of them.
        lower_is_better: the metric's direction.
    """
    places: Sequence[Place] = board.places if board else ()
    private = board is not None and board.is_private(sent, own)
    read_at = None if board is None or own is None else board.read_at(own)
    rank = None if own is None else own + 1
    teams = len(places) if board is not None and board.complete else teams
    if told is not None and not private and (read_at is None or told.at > read_at):
        rank, teams = told.rank, told.teams or teams
    if rank is not None and teams is not None:
        teams = max(rank, teams)
    complete = board is not None and board.complete
    lines = _lines(places, teams, complete=complete)
    others: Mapping[str, float] = {}
    if not private:
        rivals = [place for index, place in enumerate(places) if index != own]
        others = _lines(rivals, teams and teams - (rank is not None), complete=complete)
    score = _score(None if own is None else places[own].score, sent, private=private, lower_is_better=lower_is_better)
    medal = None if rank is None or teams is None else medal_at(rank, teams)
    return Standing(competition, at, lower_is_better, private, rank, teams, score, medal, lines, others)


def _score(shown: float | None, sent: Sequence[Sent], *, private: bool, lower_is_better: bool) -> float | None:
    """Return our score: of the public board's and our submissions' the better, as either may be read later than the other."""
    best = best_of(sent, lower_is_better=lower_is_better)
    if private or best is None or best.public is None:
        return shown
    if shown is None:
        return best.public
    return min(shown, best.public) if lower_is_better else max(shown, best.public)


def _lines(places: Sequence[Place], teams: int | None, *, complete: bool) -> dict[str, float]:
    found: dict[str, float | None] = {"first": places[0].score if places else None}
    if teams:
        for medal, last in zip(MEDALS, medal_positions(teams), strict=True):
            found[medal] = places[last - 1].score if last <= len(places) else None
    scores = [place.score for place in places if place.score is not None] if complete else []
    found["median"] = statistics.median(scores) if scores else None
    return {name: score for name, score in found.items() if score is not None}


def far(earlier: int, rank: int) -> bool:
    """Return whether a rank is so far from an earlier one that it is worth a notice."""
    return abs(rank - earlier) >= max(1, ceil(_NEAR_SHARE * min(earlier, rank)))


def lines_moved(before: Mapping[str, float], after: Mapping[str, float], *, lower_is_better: bool) -> bool:
    """Return whether the first team, or the last with a gold medal, has become much better; lines are those of the others."""
    known = [before[name] for name in (*MEDALS, "median") if name in before]
    if len(known) < 2:
        return False
    spread, sign = max(known) - min(known), -1.0 if lower_is_better else 1.0
    gains = [sign * (after[name] - before[name]) for name in ("first", "gold") if name in before and name in after]
    return any(gain > 0 and gain >= _LINE_SHARE * spread for gain in gains)


def leaderboard_moved(before: Standing, after: Standing) -> bool:
    """Return whether what happened between two looks is reason to try something else: others' top has moved far, or we fell.

    Our own submissions are none. That the private leaderboard came out is none, as nothing can be done about it any more.
    """
    if after.private:
        return False
    if lines_moved(before.others, after.others, lower_is_better=after.lower_is_better):
        return True
    if before.rank is None or after.rank is None:
        return False
    ranked = (*MEDALS, None)
    lost = ranked.index(after.medal) > ranked.index(before.medal)
    return lost or after.rank - before.rank >= max(_FALL_PLACES, ceil(_FALL_SHARE * before.rank))
