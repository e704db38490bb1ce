"""Outside: how a competition stands at the site as it was last read: its end, our rank, what was sent and may be."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.daemon.settings import CompetitionSettings
from bot.evaluation.leaderboard import medal_positions
from bot.looking.accounts import midnight
from state.polled import Reading
from state.series import last, last_of_each
from state.tables import Run, Submission

__all__ = ["Rank", "Sent", "deadline", "medal_zone", "rank", "sent"]


@dataclass(frozen=True)
class Rank:
    """Our team on the public board."""

    rank: int | None = None
    """From 1; None: not on it, or not read."""
    teams: int | None = None
    medal: str | None = None
    """What the rank would be worth now; None: nothing."""
    score: float | None = None
    """The public one."""
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
    session: Session, competition: str, settings: CompetitionSettings | None, run: Run | None
) -> datetime | None:
    """Return when a competition ends: as the owner says, else the site, else the run's card; None: not known."""
    if settings is not None and settings.deadline is not None:
        return settings.deadline
    facts = last(session, competition, "competition")
    told = facts.data.get("deadline") if facts is not None else None
    if told is None and run is not None:
        told = (run.config.get("card") or {}).get("deadline")
    return None if told is None else datetime.fromisoformat(told)


def rank(session: Session, competition: str, as_of: datetime | None = None) -> Rank:
    """Return our place on the public board, as known at a time: as the watch over it says, else as lists of competitions do."""
    watched = _reading(session, competition, "watch", as_of)
    listed = _reading(session, competition, "standing", as_of)
    told: Mapping[str, Any] = watched.data if watched is not None else {}
    if told.get("rank") is None and listed is not None:
        watched = listed
        told = {
            "rank": listed.data.get("user_rank"),
            "teams": listed.data.get("team_count"),
            "score": told.get("score"),
        }
    place, teams = told.get("rank") or None, told.get("teams") or None
    return Rank(place, teams, medal_zone(place, teams), _number(told.get("score")), watched.at if watched else None)


def medal_zone(rank: int | None, teams: int | None) -> str | None:
    """Return the medal that a rank among teams is worth by Kaggle's size classes, None for none."""
    if not rank or not teams:
        return None
    places = zip(("gold", "silver", "bronze"), medal_positions(teams), strict=True)
    return next((medal for medal, place in places if rank <= place), None)


def sent(session: Session, competition: str, settings: CompetitionSettings | None, now: datetime) -> Sent:
    """Return what was sent, and what may be sent today."""
    query = (
        select(Submission)
        .join(Run, col(Run.id) == col(Submission.run_id))
        .where(Run.competition == competition, Submission.status != "withdrawn")
    )
    ours = session.exec(query).all()
    counted = [one for one in ours if one.status != "refused"]
    today = sum(one.at >= midnight(now) for one in counted)
    scored = max((one for one in ours if one.score is not None), key=lambda one: one.at, default=None)
    return Sent(
        today=today,
        all=len(counted),
        left_today=_left(session, competition, settings, now, today=today, total=len(counted)),
        open=sum(one.status in ("intended", "sending", "doubtful") for one in ours),
        last_score=scored.score if scored is not None else _last_score(session, competition),
    )


def _left(
    session: Session,
    competition: str,
    settings: CompetitionSettings | None,
    now: datetime,
    *,
    today: int,
    total: int,
) -> int | None:
    limits, facts = last(session, competition, "limits"), last(session, competition, "competition")
    bounds: list[int] = []
    daily = facts.data.get("max_daily_submissions") if facts is not None else None
    if limits is not None and limits.at >= midnight(now):
        # What was sent since the site was asked is not yet off its count.
        seen = session.exec(
            select(func.count())
            .select_from(Submission)
            .join(Run, col(Run.id) == col(Submission.run_id))
            .where(Run.competition == competition, Submission.at > limits.at)
        ).one()
        bounds.append(limits.data["num_allowed_now"] - seen)
    elif daily:
        bounds.append(daily - today)
    if settings is not None and settings.submissions_per_day is not None:
        bounds.append(settings.submissions_per_day - today)
    if settings is not None and settings.max_submissions is not None:
        bounds.append(settings.max_submissions - total)
    return max(0, min(bounds)) if bounds else None


def _last_score(session: Session, competition: str) -> float | None:
    """Return the public score that the site lists for what was sent last, by whomever of the team."""
    scored = [
        (str(row.data.get("date") or ""), score)
        for row in last_of_each(session, competition, "submission").values()
        if (score := _number(row.data.get("public_score"))) is not None
    ]
    return max(scored)[1] if scored else None


def _reading(session: Session, competition: str, kind: str, as_of: datetime | None) -> Reading | None:
    query = select(Reading).where(Reading.competition == competition, Reading.kind == kind, Reading.name == "")
    if as_of is not None:
        query = query.where(Reading.at <= as_of)
    row = session.exec(query.order_by(col(Reading.pk).desc()).limit(1)).first()
    return row if row is not None and row.sha256 is not None else None


def _number(value: Any) -> float | None:
    """Return a score as the site writes it, which may be text; None where it is none."""
    try:
        return None if value is None or value == "" else float(value)
    except (TypeError, ValueError):
        return None
