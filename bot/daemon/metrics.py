"""Metrics for Prometheus, served on loopback: the figures of `bot status`, read when they are asked for."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from importlib import metadata
from operator import attrgetter

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from bot.budgets.kinds import Kind
from bot.status.accounts import Allowance
from bot.status.status import Status, status_of
from state.errors import StateCorrupted, StateUnavailable, UsageError
from state.store import Store

LOOPBACK = "127.0.0.1"
_PREFIX = "kaggle_bot_"
_OF_DAEMON = (
    ("clock_timestamp_seconds", "The daemon's clock, which is fast in a rehearsal.", "now"),
    ("database_size_bytes", "The database's file.", "database_bytes"),
    ("disk_free_bytes", "On the disk of the daemon's folder.", "free_bytes"),
)
"""Name, description, and the figure's path in the status; the same for a competition's below."""
_OF_COMPETITION = (
    ("rank", "Our rank on the leaderboard.", "rank.rank"),
    ("teams", "Teams on the leaderboard.", "rank.teams"),
    ("public_score", "Our score on the leaderboard.", "rank.score"),
    ("deadline_timestamp_seconds", "When a competition ends.", "deadline"),
    ("best_validation_score", "The best node's score by validation.", "nodes.best_score"),
    ("submissions", "Submissions of this bot.", "sent.all"),
)
_COUNTS = (
    ("posts", "Known posts.", "kind", ("topics", "messages", "kernels")),
    ("pool", "What the run of a competition knows.", "kind", ("analyses", "ideas", "drafts", "reports")),
    ("nodes", "Nodes of the run of a competition.", "status", ("running", "valid", "buggy", "failed")),
)
"""Counts of a competition: name, description, label, and the label's values."""

Sample = tuple[Sequence[str], float | datetime | None]


@contextmanager
def serve_metrics(
    store: Store,
    port: int,
    allowance: Callable[[], Allowance] = Allowance,
) -> Iterator[int]:
    """Serve figures at `http://127.0.0.1:<port>/metrics` while this lasts; give the port.

    They are answered by threads, also while the event loop is busy.

    Args:
        store: the daemon's database.
        port: where on loopback; 0: a free one.
        allowance: returns what may be spent, as it is configured now.

    Raises:
        UsageError: the port is taken, or may not be used.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Database(store, allowance))
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
    """The figures in the database; only one scrape at a time reads it, so that many cannot take all its connections."""

    def __init__(self, store: Store, allowance: Callable[[], Allowance]) -> None:
        self._store, self._allowance = store, allowance
        self._turn = threading.Lock()

    def collect(self) -> Iterator[Metric]:
        found = list[Metric]()
        try:
            with self._turn:
                found = list(figures(status_of(self._store, self._allowance())))
        except (StateUnavailable, StateCorrupted, SQLAlchemyError, OSError):
            found = []
        yield _gauge("database_up", "Whether the database could be read.", [], [([], bool(found))])
        yield from found


def figures(found: Status) -> Iterator[Metric]:
    """Yield the figures of a daemon and of its configured competitions; a value that is not known is left out."""
    daemon, competitions = found.daemon, [one for one in found.competitions if one.configured]
    yield _gauge("info", "The program.", ["version"], [([metadata.version("kaggle-bot")], 1.0)])
    yield _gauge("problems", "Problems that need a person.", [], [([], len(daemon.problems))])
    yield _gauge("dead_tasks", "Tasks that were given up.", [], [([], sum(one.tasks for one in daemon.dead))])
    for name, text, place in _OF_DAEMON:
        yield _gauge(name, text, [], [([], attrgetter(place)(daemon))])
    for name, text, place in _OF_COMPETITION:
        samples = [([one.competition], attrgetter(place)(one)) for one in competitions]
        yield _gauge(name, text, ["competition"], samples)
    for name, text, label, kinds in _COUNTS:
        counts = [
            ([one.competition, kind], getattr(getattr(one, name), kind)) for one in competitions for kind in kinds
        ]
        yield _gauge(name, text, ["competition", label], counts)
    labels, parts = (
        ["competition", "part"],
        [([one.competition, part.part], part) for one in competitions for part in one.polled],
    )
    text = "When a part of a competition was last read to its end."
    yield _gauge("poll_last_success_timestamp_seconds", text, labels, [(of, part.at) for of, part in parts])
    yield _gauge("poll_failures", "Polls that failed in a row.", labels, [(of, part.failures) for of, part in parts])
    accounts = [daemon.spent, *(account for one in competitions for account in one.spent)]
    for kind, unit in ((Kind.MONEY, "usd"), (Kind.TOKENS, "tokens")):
        spent = [([one.level, one.competition], one.figures[kind]) for one in accounts]
        labels, text = ["level", "competition"], "Spent on models, at each level of the budget."
        yield _gauge(f"spent_{unit}", text, labels, [(of, figure.spent) for of, figure in spent])
        text = "Cap on spending at that level; absent where there is none."
        yield _gauge(f"spending_cap_{unit}", text, labels, [(of, figure.cap) for of, figure in spent])
    services = daemon.letters.items()
    text = "Messages that a service has not accepted yet."
    yield _gauge("letters_waiting", text, ["service"], [([name], one.waiting) for name, one in services])
    text = "Those of them that were tried in vain."
    yield _gauge("letters_failing", text, ["service"], [([name], one.failing) for name, one in services])


def _gauge(name: str, documentation: str, labels: Sequence[str], samples: Iterable[Sample]) -> Metric:
    found = GaugeMetricFamily(_PREFIX + name, documentation, labels=labels)
    for values, value in samples:
        if value is not None:
            found.add_metric(values, value.timestamp() if isinstance(value, datetime) else float(value))
    return found
