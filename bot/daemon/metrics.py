"""Metrics for Prometheus, served on loopback: read from the database and the process when they are asked for, not before."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from bot.daemon.figures import figures
from bot.status.accounts import Allowance
from state.clock import Clock
from state.errors import StateCorrupted, StateUnavailable, UsageError
from state.store import Store

__all__ = ["LONGEST_LAG", "LOOPBACK", "serve_metrics"]

LOOPBACK = "127.0.0.1"
LONGEST_LAG = 2.0
"""Seconds for which a loop that does not answer is waited for."""


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
        up = GaugeMetricFamily("kaggle_bot_database_up", "Whether the database could be read.")
        began, found = time.monotonic(), list[Metric]()
        try:
            with self._turn, self._store.read() as session:
                found = list(figures(session, self._store.path, self._allowance(), self._clock.now()))
        except (StateUnavailable, StateCorrupted, SQLAlchemyError, OSError):
            found = []
        took = GaugeMetricFamily("kaggle_bot_database_read_seconds", "How long reading the database took.")
        up.add_metric([], 1.0 if found else 0.0)
        took.add_metric([], time.monotonic() - began)
        yield up
        yield took
        yield from found


class _Loop(Collector):
    """How late the event loop does what is due at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None, longest: float) -> None:
        self._loop, self._longest = loop, longest

    def collect(self) -> Iterator[Metric]:
        lag = GaugeMetricFamily("kaggle_bot_event_loop_lag_seconds", "How late the event loop is, up to a bound.")
        if self._loop is not None and not self._loop.is_closed():
            done, began = threading.Event(), time.monotonic()
            self._loop.call_soon_threadsafe(done.set)
            done.wait(self._longest)
            lag.add_metric([], min(time.monotonic() - began, self._longest))
        yield lag


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
