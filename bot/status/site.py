"""A competition at the site, as last read: its deadline, our rank and submissions, when its parts were read, its posts."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import distinct, func
from sqlmodel import Session, col, select

from bot.configuration.competition import CompetitionSettings
from bot.evaluation.answers.board import Medal, medal_at
from bot.leaderboard.board import number
from state.clock import midnight
from state.live import deadline_of
from state.polling import watermarks
from state.series import last_reading, last_readings
from state.submissions import OPEN, may_be_there
from state.tables import KernelVersion, PostedMessage, Run, Submission, Topic


@dataclass(frozen=True)
class Rank:
    """Our team on the leaderboard that the site shows."""

    rank: int | None = None
    """From 1; None: not on it, or not read yet."""
    teams: int | None = None
    medal: Medal | None = None
    """What the rank would be worth now; None: nothing."""
    score: float | None = None
    """The public score, or the private one if the rank is on the private board."""
    private: bool = False
    """Whether the rank is on the private board."""
    since: datetime | None = None


@dataclass(frozen=True)
class SubmissionCounts:
    """How many submissions this bot has sent, and how many more the site's and the owner's limits allow."""

    today: int = 0
    all: int = 0
    left_today: int | None = None
    """None: no limit is known."""
    open: int = 0
    """Started but not settled."""
    last_score: float | None = None


def deadline(
    session: Session,
    competition: str,
    settings: CompetitionSettings | None,
    run: Run | None,
    as_of: datetime | None = None,
) -> datetime | None:
    """Return when a competition ends, by the owner's setting, else the site (as of a time), else the run's card."""
    card = (run.config.get("card") or {}).get("deadline") if run is not None else None
    card_deadline, configured = datetime.fromisoformat(card) if card else None, settings.deadline if settings else None
    return deadline_of(session, competition, configured=configured, card=card_deadline, as_of=as_of)


def rank(session: Session, competition: str, as_of: datetime | None = None) -> Rank:
    """Return our place as known at a time: by the leaderboard watch, else by the site's list of competitions."""
    watched = last_reading(session, competition, "watch", as_of=as_of)
    standing = watched.data.get("standing", watched.data) if watched is not None and watched.sha256 is not None else {}
    if watched is not None and standing.get("rank"):
        our_rank, teams, score = standing["rank"], standing.get("teams"), number(standing.get("score"))
        private, since = bool(standing.get("private")), watched.at
    else:
        reading = last_reading(session, competition, "standing", as_of=as_of)
        if reading is None or reading.sha256 is None:
            return Rank()
        our_rank, teams, score = reading.data.get("user_rank"), reading.data.get("team_count"), None
        private, since = False, reading.at
    # The site reports 0 for an unknown rank or number of teams.
    medal = medal_at(our_rank, teams) if our_rank and teams else None
    return Rank(our_rank or None, teams or None, medal, score, private, since)


def count_sent(
    session: Session, competition: str, settings: CompetitionSettings | None, now: datetime
) -> SubmissionCounts:
    """Count what was sent, and what may still be sent today."""
    query = select(Submission).join(Run, col(Run.id) == col(Submission.run_id)).where(Run.competition == competition)
    our_submissions = session.exec(query.order_by(col(Submission.at))).all()
    times = [submission.sent_at or submission.at for submission in our_submissions if may_be_there(submission)]
    today = sum(sent_at >= midnight(now) for sent_at in times)
    scores = [submission.score for submission in our_submissions if submission.score is not None]
    limits, facts = last_reading(session, competition, "limits"), last_reading(session, competition, "competition")
    daily = facts.data.get("max_daily_submissions") if facts is not None else None
    bounds: list[int] = []
    # All are zero for a user without a team, which says nothing of the day.
    if limits is not None and limits.at >= midnight(now) and any(limits.data.values()):
        # The site's count does not yet include what was sent since we asked.
        bounds.append(int(limits.data["num_allowed_now"]) - sum(sent_at > limits.at for sent_at in times))
    elif daily:
        bounds.append(daily - today)
    if settings is not None and settings.submissions_per_day is not None:
        bounds.append(settings.submissions_per_day - today)
    if settings is not None and settings.max_submissions is not None:
        bounds.append(settings.max_submissions - len(times))
    # Without a score of ours, the one that the site lists for the team's latest submission counts.
    if not scores:
        rows = [row.data for row in last_readings(session, competition, "submission").values()]
        in_order = sorted(rows, key=lambda data: str(data.get("date") or ""))
        scores = [score for data in in_order if (score := number(data.get("public_score"))) is not None]
    return SubmissionCounts(
        today=today,
        all=len(times),
        left_today=max(0, min(bounds)) if bounds else None,
        open=sum(submission.status in OPEN for submission in our_submissions),
        last_score=scores[-1] if scores else None,
    )


@dataclass(frozen=True)
class PollState:
    """The state of one polled part of a competition."""

    part: str
    read_at: datetime | None
    """When it was last read to its end."""
    failures: int
    """In a row, since then."""
    failed_at: datetime | None
    refused: bool
    """Whether the last failure was a refusal by the site."""
    error: str | None


@dataclass(frozen=True)
class Posts:
    """How many posts are known; deleted ones are not counted."""

    topics: int = 0
    messages: int = 0
    kernels: int = 0


def last_polls(session: Session, competition: str) -> tuple[PollState, ...]:
    """Return the parts of a competition that were ever tried, with those of the account (competition `""`), by name."""
    marks = {**watermarks(session, ""), **watermarks(session, competition)}
    return tuple(
        PollState(part, row.at, row.failures, row.tried_at if row.failures else None, row.refused, row.error)
        for part, row in sorted(marks.items())
    )


def posts(session: Session) -> dict[str, Posts]:
    """Return how many posts are known, by competition; all versions of a kernel count as one."""
    topics = select(Topic.competition, func.count()).where(col(Topic.deleted).is_(False))
    messages = select(PostedMessage.competition, func.count()).where(col(PostedMessage.deleted).is_(False))
    kernels = select(KernelVersion.competition, func.count(distinct(col(KernelVersion.ref))))
    counts = [
        dict(session.exec(topics.group_by(Topic.competition)).all()),
        dict(session.exec(messages.group_by(PostedMessage.competition)).all()),
        dict(session.exec(kernels.group_by(KernelVersion.competition)).all()),
    ]
    return {slug: Posts(*(count.get(slug, 0) for count in counts)) for slug in set().union(*counts)}
