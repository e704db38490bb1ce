"""Where the team stands on the leaderboard as last polled: its rank, medal and score, and the medals' score lines."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil

from sqlmodel import Session

from bot.evaluation.answers.board import MEDALS, Medal, medal_at, medal_positions
from bot.leaderboard.board import (
    Board,
    Place,
    SeriesReading,
    SiteSubmission,
    best_of,
    latest_reading,
    own_place,
    read_board,
    site_submissions,
)
from state.polling import watermark

_NEAR_SHARE = 0.05
"""A rank that moves by less than this share of itself counts as unchanged; among the first 20 each place counts."""
_FALL_SHARE, _FALL_PLACES = 0.1, 3
"""A fall by this share of the rank, and by at least this many places, is large."""
_LINE_SHARE = 0.1
"""A line that rises by this share of the distance between the medals' and the median's lines has moved far."""


@dataclass(frozen=True)
class TeamStanding:
    """Where the team stands; None means unknown. Scores are in the metric's own sign, ranks count from 1."""

    competition: str
    since: datetime
    """By our clock."""
    lower_is_better: bool
    private: bool
    """Whether this is the private leaderboard, which is final."""
    rank: int | None
    """None: the team is not on the board."""
    teams: int | None
    score: float | None
    """The best public score; on the private leaderboard, the score that counts."""
    medal: Medal | None = None
    """The medal that the rank is worth."""
    lines: Mapping[str, float] = field(default_factory=dict)
    """Known scores of the first team, of the last team with each medal, and the median."""
    rival_lines: Mapping[str, float] = field(default_factory=dict)
    """The same lines without our row, so that we never cause their moves; empty on the private leaderboard."""


@dataclass(frozen=True)
class Leaderboard:
    """What was polled of a competition: its board, our submissions and our standing."""

    standing: TeamStanding
    submissions: Sequence[SiteSubmission]
    board: Board | None
    own_index: int | None
    """The index of our place on the board."""
    shown_at: datetime
    """When the site showed the newest part of it."""


def read_leaderboard(session: Session, competition: str, now: datetime, *, lower_is_better: bool) -> Leaderboard | None:
    """Return what was polled; None while neither a board nor anything about us was read."""
    board = read_board(session, competition, lower_is_better=lower_is_better)
    facts = latest_reading(session, competition, "standing", "", watermark(session, "", "competitions").at)
    submissions = site_submissions(session, competition)
    if board is None and facts is None and not submissions:
        return None
    own_index = own_place(board.places, submissions) if board else None
    standing = team_standing(competition, now, board, submissions, own_index, facts, lower_is_better=lower_is_better)
    times = [source.shown_at for source in (board, facts) if source is not None]
    return Leaderboard(standing, submissions, board, own_index, max(times, default=now))


def team_standing(
    competition: str,
    time: datetime,
    board: Board | None,
    submissions: Sequence[SiteSubmission],
    own_index: int | None,
    facts: SeriesReading | None,
    *,
    lower_is_better: bool,
) -> TeamStanding:
    """Return where the team stands.

    `own_index` is that of our place on the board. `facts` hold rank and teams, which the site reports apart from its
    boards: that rank counts if it is newer than our place on the board, or we have none.
    """
    places: Sequence[Place] = board.places if board else ()
    private = board is not None and board.is_private(submissions, own_index)
    complete = board is not None and board.complete
    rank, read_at = (None, None) if board is None or own_index is None else (own_index + 1, board.read_at(own_index))
    # The site reports 0 for an unknown rank or number of teams.
    site_rank, site_teams = (facts.reading.data.get(name) if facts else None for name in ("user_rank", "team_count"))
    teams = len(places) if complete else site_teams or None
    if facts and site_rank and not private and (read_at is None or facts.read_at > read_at):
        rank, teams = site_rank, site_teams or teams
    if rank is not None and teams is not None:
        teams = max(rank, teams)
    lines = _lines(places, teams, complete=complete)
    lines_of_rivals: Mapping[str, float] = {}
    if not private:
        rivals = [place for index, place in enumerate(places) if index != own_index]
        lines_of_rivals = _lines(rivals, teams and teams - (rank is not None), complete=complete)
    score = None if own_index is None else places[own_index].score
    best = best_of(submissions, lower_is_better=lower_is_better)
    if best is not None and best.public is not None and not private:
        # The board's or our submissions', as either may be the newer.
        better = min if lower_is_better else max
        score = best.public if score is None else better(score, best.public)
    medal = None if rank is None or teams is None else medal_at(rank, teams)
    return TeamStanding(competition, time, lower_is_better, private, rank, teams, score, medal, lines, lines_of_rivals)


def _lines(places: Sequence[Place], teams: int | None, *, complete: bool) -> dict[str, float]:
    lines: dict[str, float | None] = {"first": places[0].score if places else None}
    if teams:
        for medal, last in zip(MEDALS, medal_positions(teams), strict=True):
            lines[medal] = places[last - 1].score if last <= len(places) else None
    scores = [place.score for place in places if place.score is not None] if complete else []
    lines["median"] = statistics.median(scores) if scores else None
    return {name: score for name, score in lines.items() if score is not None}


def is_far(earlier: int, rank: int) -> bool:
    """Return whether a rank is far enough from an earlier one to be worth a notice."""
    return abs(rank - earlier) >= max(1, ceil(_NEAR_SHARE * min(earlier, rank)))


def lines_moved(before: Mapping[str, float], after: Mapping[str, float], *, lower_is_better: bool) -> bool:
    """Return whether the first team's score, or the gold line, has become much better; both without our own row."""
    values = [before[name] for name in (*MEDALS, "median") if name in before]
    if len(values) < 2:
        return False
    spread, sign = max(values) - min(values), -1.0 if lower_is_better else 1.0
    gains = [sign * (after[name] - before[name]) for name in ("first", "gold") if name in before and name in after]
    return any(gain > 0 and gain >= _LINE_SHARE * spread for gain in gains)


def leaderboard_moved(before: TeamStanding, after: TeamStanding) -> bool:
    """Return whether a change is reason to try something else: the others' top has moved far, or we fell.

    Our own submissions are no reason. Neither is the private leaderboard, as nothing can be done about it any more.
    """
    if after.private:
        return False
    if lines_moved(before.rival_lines, after.rival_lines, lower_is_better=after.lower_is_better):
        return True
    if before.rank is None or after.rank is None:
        return False
    order = (*MEDALS, None)
    lost = order.index(after.medal) > order.index(before.medal)
    return lost or after.rank - before.rank >= max(_FALL_PLACES, ceil(_FALL_SHARE * before.rank))
