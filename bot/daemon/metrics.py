"""Metrics for Prometheus, served on loopback: read from the database and the process when they are asked for."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import metadata
from pathlib import Path

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Executable, func
from sqlalchemy.exc import SQLAlchemyError
from sqlmodel import Session, col, select

from bot.budgets.kinds import Kind
from bot.execution.disk_space import free_bytes
from bot.status.accounts import Account, Allowance, accounts
from bot.status.polls import Posts, polled, posts
from bot.status.problems import current
from bot.status.queue import letters
from bot.status.site import deadline, rank
from bot.status.work import latest_runs, lower_is_better, nodes_of, pool_of
from state.clock import Clock
from state.errors import StateCorrupted, StateUnavailable, UsageError
from state.store import Store
from state.tables import Execution, RequestCount, Run, Submission
from state.tasks import task_counts

__all__ = ["LONGEST_LAG", "LOOPBACK", "MOST_COMPETITIONS", "figures", "serve_metrics"]

LOOPBACK = "127.0.0.1"
LONGEST_LAG = 2.0
"""Seconds for which a loop that does not answer is waited for."""
MOST_COMPETITIONS = 50
"""Competitions that are shown; the label has no more values, however long the bot goes on."""
_PREFIX = "kaggle_bot_"

Sample = tuple[Sequence[str], float | None]


@contextmanager
def serve_metrics(
    store: Store,
    clock: Clock,
    port: int,
    allowance: Callable[[], Allowance] = Allowance,
    *,
    longest_lag: float = LONGEST_LAG,
) -> Iterator[int]:
    """Serve figures at `http://127.0.0.1:<port>/metrics` while this lasts; give the port.

    They are answered by threads, so that a scrape says so where the event loop hangs.

    Args:
        store: the daemon's database.
        clock: says which day it is.
        port: where on loopback; 0: a free one.
        allowance: returns what may be spent, as it is configured now.
        longest_lag: seconds; a loop that is later is told as so late.

    Raises:
        UsageError: the port is taken, or may not be used.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Database(store, clock, allowance))
    registry.register(_Loop(_running_loop(), longest_lag))
    ProcessCollector(registry=registry)
    try:
        server, _ = start_http_server(port, addr=LOOPBACK, registry=registry)
    except OSError as error:
        raise UsageError(
            f"figures cannot be served at {LOOPBACK}:{port} ({error.strerror}): set another metrics_port under [daemon]"
        ) from error
    try:
        yield server.server_port
    finally:
        # Its threads end by themselves; a scrape that is being answered is not waited for.
        server.shutdown()
        server.server_close()


class _Database(Collector):
    """What the database says; one scrape at a time reads it, so that many cannot take all of its connections."""

    def __init__(self, store: Store, clock: Clock, allowance: Callable[[], Allowance]) -> None:
        self._store, self._clock, self._allowance = store, clock, allowance
        self._turn = threading.Lock()

    def collect(self) -> Iterator[Metric]:
        began, found = time.monotonic(), list[Metric]()
        try:
            with self._turn, self._store.read() as session:
                found = list(figures(session, self._store.path, self._allowance(), self._clock.now()))
        except (StateUnavailable, StateCorrupted, SQLAlchemyError, OSError):
            found = []
        yield _one("database_up", "Whether the database could be read.", bool(found))
        yield _one("database_read_seconds", "How long reading the database took.", time.monotonic() - began)
        yield from found


class _Loop(Collector):
    """How late the event loop does what is due at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None, longest: float) -> None:
        self._loop, self._longest = loop, longest

    def collect(self) -> Iterator[Metric]:
        if self._loop is not None and not self._loop.is_closed():
            done, began = threading.Event(), time.monotonic()
            self._loop.call_soon_threadsafe(done.set)
            done.wait(self._longest)
            lag = min(time.monotonic() - began, self._longest)
            yield _one("event_loop_lag_seconds", "How late the event loop is, up to a bound.", lag)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def figures(session: Session, database: Path, allowance: Allowance, now: datetime) -> Iterator[Metric]:
    """Yield the figures of a daemon; a value that is not known is left out.

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
    yield _one("database_size_bytes", "The database's file.", database.stat().st_size)
    yield _one("disk_free_bytes", "On the disk of the daemon's folder.", free_bytes(database.parent))
    yield _one("problems", "Problems that need a person.", len(current(session)))
    yield from _kaggle(session, slugs, now)
    yield from _site(session, slugs, allowance, own)
    yield from _work(session, database.parent, own)
    yield from _spent(accounts(session, allowance, now), slugs, own)
    yield from _queue(session)


def _kaggle(session: Session, slugs: Sequence[str], now: datetime) -> Iterator[Metric]:
    today = select(RequestCount.family, RequestCount.count).where(RequestCount.day == now.date().isoformat())
    asked = (([family], count) for family, count in session.exec(today))
    yield _gauge("kaggle_requests_today", "Requests to Kaggle on this UTC day.", ["family"], asked)
    labels = ["competition", "part"]
    parts = [([slug, part.part], part) for slug in slugs for part in polled(session, slug)]
    name, text = "poll_last_success_timestamp_seconds", "When a part of a competition was last read to its end."
    yield _gauge(name, text, labels, ((of, part.at.timestamp() if part.at else None) for of, part in parts))
    yield _gauge("poll_failures", "Polls that failed in a row.", labels, ((of, part.failures) for of, part in parts))
    known = posts(session)
    kinds = [(slug, kind) for slug in slugs for kind in ("topic", "message", "kernel")]
    counts = (([slug, kind], getattr(known.get(slug, Posts()), f"{kind}s")) for slug, kind in kinds)
    yield _gauge("posts", "Posts that are known.", ["competition", "kind"], counts)


def _site(session: Session, slugs: Sequence[str], allowance: Allowance, own: dict[str, Run]) -> Iterator[Metric]:
    of = ["competition"]
    ranks = [([slug], rank(session, slug)) for slug in slugs]
    yield _gauge("rank", "Our rank on the leaderboard.", of, ((name, one.rank) for name, one in ranks))
    yield _gauge("teams", "Teams on the leaderboard.", of, ((name, one.teams) for name, one in ranks))
    yield _gauge("public_score", "Our score on the leaderboard.", of, ((name, one.score) for name, one in ranks))
    ends = [([slug], deadline(session, slug, allowance.competitions.get(slug), own.get(slug))) for slug in slugs]
    at = ((name, end.timestamp() if end else None) for name, end in ends)
    yield _gauge("deadline_timestamp_seconds", "When a competition ends.", of, at)


def _work(session: Session, folder: Path, own: dict[str, Run]) -> Iterator[Metric]:
    pools = {slug: pool_of(session, run.id) for slug, run in own.items()}
    kinds = ("analyses", "ideas", "drafts", "reports")
    known = (([slug, kind], getattr(pool, kind)) for slug, pool in pools.items() for kind in kinds)
    yield _gauge("pool", "What the run of a competition knows.", ["competition", "kind"], known)
    nodes = {slug: nodes_of(session, run.id, lower=lower_is_better(run, folder)) for slug, run in own.items()}
    statuses = ("running", "valid", "buggy", "failed")
    counts = (([slug, status], getattr(one, status)) for slug, one in nodes.items() for status in statuses)
    yield _gauge("nodes", "Nodes of the run of a competition.", ["competition", "status"], counts)
    best = (([slug], one.best_score) for slug, one in nodes.items())
    yield _gauge("best_validation_score", "The best node's score by validation.", ["competition"], best)
    done = func.coalesce(Execution.reason, "running")
    executions = _by_run(session, select(Execution.run_id, done, func.count()).group_by(Execution.run_id, done), own)
    yield _gauge("executions", "Executions by how they ended.", ["competition", "reason"], executions)
    status = col(Submission.status)
    sent = _by_run(session, select(Submission.run_id, status, func.count()).group_by(Submission.run_id, status), own)
    yield _gauge("submissions", "Submissions of this bot.", ["competition", "status"], sent)


def _spent(found: Sequence[Account], slugs: Sequence[str], own: dict[str, Run]) -> Iterator[Metric]:
    ids = {run.id for run in own.values()}
    levels = ["level", "competition"]
    shown = [
        ([one.level, one.competition], one.figures)
        for one in found
        if one.level == "day" or (one.name in ids if one.level == "run" else one.competition in slugs)
    ]
    for kind, unit in ((Kind.MONEY, "usd"), (Kind.TOKENS, "tokens")):
        spent = ((of, figures[kind].spent) for of, figures in shown)
        yield _gauge(f"spent_{unit}", "Spent on models, at each level of the budget.", levels, spent)
        caps = ((of, figures[kind].cap) for of, figures in shown)
        text = "What may be spent there; nothing where there is no cap."
        yield _gauge(f"spending_cap_{unit}", text, levels, caps)


def _queue(session: Session) -> Iterator[Metric]:
    counts = [(kind, *one) for kind, of_kind in task_counts(session).items() for one in of_kind.items()]
    tasks = (([kind, status], count) for kind, status, count in counts)
    yield _gauge("tasks", "Tasks by what became of them; dead ones were given up.", ["kind", "status"], tasks)
    waiting = letters(session)
    unsent = (([service], one.waiting) for service, one in waiting.items())
    yield _gauge("letters_waiting", "Messages that a service has not taken yet.", ["service"], unsent)
    failing = (([service], one.failing) for service, one in waiting.items())
    yield _gauge("letters_failing", "Of these, those tried in vain.", ["service"], failing)


def _by_run(session: Session, query: Executable, own: dict[str, Run]) -> list[Sample]:
    slugs = {run.id: slug for slug, run in own.items()}
    return [([slugs[id], value], count) for id, value, count in session.execute(query) if id in slugs]


def _one(name: str, documentation: str, value: float) -> Metric:
    return _gauge(name, documentation, [], [([], value)])


def _gauge(name: str, documentation: str, labels: Sequence[str], samples: Iterable[Sample]) -> Metric:
    found = GaugeMetricFamily(_PREFIX + name, documentation, labels=labels)
    for values, value in samples:
        if value is not None:
            found.add_metric(values, float(value))
    return found
