"""Figures about a daemon for Prometheus, from one state of its database."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from importlib import metadata
from pathlib import Path

from prometheus_client.core import GaugeMetricFamily, Metric
from sqlalchemy import Executable, func
from sqlmodel import Session, col, select

from bot.budgets.kinds import Kind
from bot.execution.disk_space import free_bytes
from bot.status.accounts import Account, Allowance, accounts
from bot.status.outside import deadline, rank
from bot.status.polls import Posts, polled, posts
from bot.status.problems import current
from bot.status.queue import letters
from bot.status.work import latest_runs, lower_is_better, nodes_of, pool_of
from state.polled import RequestCount
from state.tables import Execution, Run, Submission
from state.tasks import task_counts

__all__ = ["MOST_COMPETITIONS", "figures"]

MOST_COMPETITIONS = 50
"""Competitions that are told of; the label has no more values, however long the bot goes on."""
_PREFIX = "kaggle_bot_"

Sample = tuple[Sequence[str], float | None]


def figures(session: Session, database: Path, allowance: Allowance, now: datetime) -> Iterator[Metric]:
    """Yield the figures; a value that is not known is left out.

    Args:
        session: to read with.
        database: the daemon's file, whose folder is the daemon's.
        allowance: what is configured.
        now: aware UTC, by the daemon's clock.
    """
    runs = {slug: run for slug, run in latest_runs(session).items() if run.status == "running"}
    slugs = sorted({*allowance.competitions, *runs})[:MOST_COMPETITIONS]
    own = {slug: runs[slug] for slug in slugs if slug in runs}
    yield _gauge("info", "The program.", ["version"], [([metadata.version("kaggle-bot")], 1.0)])
    yield _one("clock_timestamp_seconds", "The daemon's clock, which is fast in a rehearsal.", now.timestamp())
    yield _one("database_size_bytes", "The database's file.", float(database.stat().st_size))
    yield _one("disk_free_bytes", "On the disk of the daemon's folder.", float(free_bytes(database.parent)))
    yield _one("problems", "Problems that need a person.", float(len(current(session))))
    yield from _kaggle(session, slugs, now)
    yield from _outside(session, slugs, allowance, own)
    yield from _work(session, database.parent, own)
    yield from _spent(accounts(session, allowance, now), slugs, own)
    yield from _queue(session)


def _kaggle(session: Session, slugs: Sequence[str], now: datetime) -> Iterator[Metric]:
    today = select(RequestCount.family, RequestCount.count).where(RequestCount.day == now.date().isoformat())
    asked = [([family], float(count)) for family, count in session.exec(today)]
    yield _gauge("kaggle_requests_today", "Requests to Kaggle on this UTC day.", ["family"], asked)
    parts = [([slug, part.part], part) for slug in slugs for part in polled(session, slug)]
    yield _gauge(
        "poll_last_success_timestamp_seconds",
        "When a part of a competition was last read to its end.",
        ["competition", "part"],
        [(labels, part.at.timestamp() if part.at else None) for labels, part in parts],
    )
    failures: list[Sample] = [(labels, float(part.failures)) for labels, part in parts]
    yield _gauge("poll_failures", "Polls that failed in a row.", ["competition", "part"], failures)
    known = posts(session)
    counts: list[Sample] = [
        ([slug, kind], float(getattr(known.get(slug, Posts()), f"{kind}s")))
        for slug in slugs
        for kind in ("topic", "message", "kernel")
    ]
    yield _gauge("posts", "Posts that are known.", ["competition", "kind"], counts)


def _outside(session: Session, slugs: Sequence[str], allowance: Allowance, own: dict[str, Run]) -> Iterator[Metric]:
    standings = [(slug, rank(session, slug)) for slug in slugs]
    yield _gauge("rank", "Our rank on the leaderboard.", ["competition"], [([s], _float(r.rank)) for s, r in standings])
    yield _gauge("teams", "Teams on the leaderboard.", ["competition"], [([s], _float(r.teams)) for s, r in standings])
    public: list[Sample] = [([slug], standing.score) for slug, standing in standings]
    yield _gauge("public_score", "Our score on the leaderboard.", ["competition"], public)
    ends = [([slug], deadline(session, slug, allowance.competitions.get(slug), own.get(slug))) for slug in slugs]
    at: list[Sample] = [(labels, end.timestamp() if end else None) for labels, end in ends]
    yield _gauge("deadline_timestamp_seconds", "When a competition ends.", ["competition"], at)


def _work(session: Session, folder: Path, own: dict[str, Run]) -> Iterator[Metric]:
    pools = {slug: pool_of(session, run.id) for slug, run in own.items()}
    kinds = ("analyses", "ideas", "drafts", "reports")
    known: list[Sample] = [([slug, kind], float(getattr(pool, kind))) for slug, pool in pools.items() for kind in kinds]
    yield _gauge("pool", "What the run of a competition knows.", ["competition", "kind"], known)
    nodes = {slug: nodes_of(session, run.id, lower=lower_is_better(run, folder)) for slug, run in own.items()}
    statuses = ("running", "valid", "buggy", "failed")
    counts: list[Sample] = [
        ([slug, status], float(getattr(one, status))) for slug, one in nodes.items() for status in statuses
    ]
    yield _gauge("nodes", "Nodes of the run of a competition.", ["competition", "status"], counts)
    best: list[Sample] = [([slug], one.best_score) for slug, one in nodes.items()]
    yield _gauge("best_validation_score", "The best node's score by validation.", ["competition"], best)
    done = func.coalesce(Execution.reason, "running")
    executions = _by_run(session, select(Execution.run_id, done, func.count()).group_by(Execution.run_id, done), own)
    yield _gauge("executions", "Executions by how they ended.", ["competition", "reason"], executions)
    status = col(Submission.status)
    sent = _by_run(session, select(Submission.run_id, status, func.count()).group_by(Submission.run_id, status), own)
    yield _gauge("submissions", "Submissions of this bot.", ["competition", "status"], sent)


def _spent(found: Sequence[Account], slugs: Sequence[str], own: dict[str, Run]) -> Iterator[Metric]:
    ids = {run.id for run in own.values()}
    told = [
        one
        for one in found
        if (one.name in ids if one.level == "run" else one.competition in slugs) or one.level == "day"
    ]
    for kind, unit in ((Kind.MONEY, "usd"), (Kind.TOKENS, "tokens")):
        spent: list[Sample] = [([one.level, one.competition], one.figures[kind].spent) for one in told]
        capped: list[Sample] = [([one.level, one.competition], one.figures[kind].cap) for one in told]
        labels = ["level", "competition"]
        yield _gauge(f"spent_{unit}", "Spent on models, at each level of the budget.", labels, spent)
        yield _gauge(f"spending_cap_{unit}", "What may be spent there; nothing where there is no cap.", labels, capped)


def _queue(session: Session) -> Iterator[Metric]:
    counts = task_counts(session)
    tasks: list[Sample] = [
        ([kind, status], float(count)) for kind, of_kind in counts.items() for status, count in of_kind.items()
    ]
    yield _gauge("tasks", "Tasks by what became of them; dead ones were given up.", ["kind", "status"], tasks)
    waiting = letters(session)
    unsent: list[Sample] = [([service], float(one.waiting)) for service, one in waiting.items()]
    failing: list[Sample] = [([service], float(one.failing)) for service, one in waiting.items()]
    yield _gauge("letters_waiting", "Messages that a service has not taken yet.", ["service"], unsent)
    yield _gauge("letters_failing", "Of these, those tried in vain.", ["service"], failing)


def _by_run(session: Session, query: Executable, own: dict[str, Run]) -> list[Sample]:
    slugs = {run.id: slug for slug, run in own.items()}
    rows = session.execute(query).all()
    return [([slugs[run_id], value], float(count)) for run_id, value, count in rows if run_id in slugs]


def _one(name: str, documentation: str, value: float) -> Metric:
    return _gauge(name, documentation, [], [([], value)])


def _gauge(name: str, documentation: str, labels: Sequence[str], samples: Iterable[Sample]) -> Metric:
    found = GaugeMetricFamily(_PREFIX + name, documentation, labels=labels)
    for values, value in samples:
        if value is not None:
            found.add_metric(values, value)
    return found


def _float(value: int | None) -> float | None:
    return None if value is None else float(value)
