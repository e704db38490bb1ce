"""How a competition stands at the site as it was last read: its end, our rank, what was sent and may be."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot.configuration.competition import CompetitionSettings
from bot.evaluation.answers.board import Medal, medal_at
from bot.leaderboard.board import number
from bot.status.accounts import midnight
from state.live import deadline_of
from state.series import last_reading, last_readings
from state.submissions import OPEN, may_be_there
from state.tables import Run, Submission


@dataclass(frozen=True)
class Rank:
    """Our team on the board that is shown."""

    rank: int | None = None
    """From 1; None: not on it, or not read."""
    teams: int | None = None
    medal: Medal | None = None
    """What the rank would be worth now; None: nothing."""
    score: float | None = None
    """The public one, or the private one where that is what the rank is by."""
    private: bool = False
    """Whether the private board is what the rank is by."""
    at: datetime | None = None
    """Since when it is so."""


@dataclass(frozen=True)
class Sent:
    """Submissions: those that this bot sent, and what the site's and the owner's limits leave."""

    today: int = 0
    all: int = 0
    left_today: int | None = None
    """None: nobody has said how many there may be."""
    open: int = 0
    """Begun, and not settled."""
    last_score: float | None = None
    """The public score that came last."""


def deadline(
    session: Session,
    competition: str,
    settings: CompetitionSettings | None,
    run: Run | None,
    as_of: datetime | None = None,
) -> datetime | None:
    """Return when a competition ends: as the owner says, else the site (at a time), else the run's card; None: not known."""
    card = (run.config.get("card") or {}).get("deadline") if run is not None else None
    return deadline_of(
        session,
        competition,
        own=settings.deadline if settings is not None else None,
        card=datetime.fromisoformat(card) if card else None,
        as_of=as_of,
    )


def rank(session: Session, competition: str, as_of: datetime | None = None) -> Rank:
    """Return our place on the board, as known at a time: as the watch over it says, else as the list of competitions does."""
    watched = last_reading(session, competition, "watch", as_of=as_of)
    if (
        watched is not None
        and watched.sha256 is not None
        and (told := watched.data.get("standing", watched.data)).get("rank")
    ):
        private = bool(told.get("private"))
        return _rank(told["rank"], told.get("teams"), number(told.get("score")), watched.at, private=private)
    listed = last_reading(session, competition, "standing", as_of=as_of)
    if listed is None or listed.sha256 is None:
        return Rank()
    return _rank(listed.data.get("user_rank"), listed.data.get("team_count"), None, listed.at)


def _rank(rank: int | None, teams: int | None, score: float | None, at: datetime, *, private: bool = False) -> Rank:
    # The site says 0 where it has nothing to say.
    return Rank(rank or None, teams or None, medal_at(rank, teams) if rank and teams else None, score, private, at)


def sent(session: Session, competition: str, settings: CompetitionSettings | None, now: datetime) -> Sent:
    """Return what was sent, and what may be sent today."""
    query = select(Submission).join(Run, col(Run.id) == col(Submission.run_id)).where(Run.competition == competition)
    ours = session.exec(query.order_by(col(Submission.at))).all()
    times = [one.sent_at or one.at for one in ours if may_be_there(one)]
    scored = [one.score for one in ours if one.score is not None]
    return Sent(
        today=sum(at >= midnight(now) for at in times),
        all=len(times),
        left_today=_left(session, competition, settings, now, times),
        open=sum(one.status in OPEN for one in ours),
        last_score=scored[-1] if scored else _last_score(session, competition),
    )


def _left(
    session: Session,
    competition: str,
    settings: CompetitionSettings | None,
    now: datetime,
    times: Sequence[datetime],
) -> int | None:
    """Return how many may be sent today, given when which were sent; None where no limit is known."""
    limits, facts = last_reading(session, competition, "limits"), last_reading(session, competition, "competition")
    today = sum(at >= midnight(now) for at in times)
    daily = facts.data.get("max_daily_submissions") if facts is not None else None
    bounds: list[int] = []
    if limits is not None and limits.at >= midnight(now):
        # What was sent since the site was asked is not yet off its count.
        bounds.append(int(limits.data["num_allowed_now"]) - sum(at > limits.at for at in times))
    elif daily:
        bounds.append(daily - today)
    if settings is not None and settings.submissions_per_day is not None:
        bounds.append(settings.submissions_per_day - today)
    if settings is not None and settings.max_submissions is not None:
        bounds.append(settings.max_submissions - len(times))
    return max(0, min(bounds)) if bounds else None


def _last_score(session: Session, competition: str) -> float | None:
    """Return the public score that the site lists for what was sent last, by whomever of the team."""
    scored = [
        (str(row.data.get("date") or ""), score)
        for row in last_readings(session, competition, "submission").values()
        if (score := number(row.data.get("public_score"))) is not None
    ]
    return max(scored)[1] if scored else None
