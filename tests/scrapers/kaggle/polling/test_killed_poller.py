"""Sixty days of a competition, on a site with bad days, read by a poller that is killed ten times: nothing is lost."""

import multiprocessing
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.faults import Fault, Faults
from bot.simulator.site.serving import serving
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.site import Site
from scrapers.snapshots.demo import write_demo
from scrapers.snapshots.snapshot import Snapshot
from state.clock import FastClock
from state.store import as_stored
from tests import needs
from tests.bot.simulator.site.bad_days import bad_days
from tests.scrapers.kaggle.polling import child
from tests.scrapers.kaggle.polling.crowd import Crowd
from tests.scrapers.kaggle.polling.shown import Reader, Shown, stored

DAYS = 60
SECONDS = 30.0
"""Of the machine, that the days take."""
KILLS = 10
CAP = 3_000
SCRIPT = bad_days(stall_every=251, stall_seconds=0.7)


class StoppingClock(FastClock):
    """Runs until a time, and then stands, so that what is shown in the end is still shown when it is compared."""

    end = datetime.max.replace(tzinfo=UTC)

    def now(self) -> datetime:
        return min(super().now(), self.end)


class CountingFaults(Faults):
    """Counts requests of a day, and notes when the first source was asked for."""

    def __init__(self) -> None:
        super().__init__([Fault.model_validate(fault) for fault in SCRIPT])
        self.by_day: Counter[date] = Counter()
        self.first_source: datetime | None = None
        self.silent = False

    def silence(self) -> None:
        """Let nothing go wrong any more: the site's time stands, and a rate limit would never end."""
        self.silent = True

    def draw(self, method: str, now: datetime) -> Fault | None:
        if method != "GET storage":
            self.by_day[now.date()] += 1
        if method == "GetKernel":
            self.first_source = self.first_source or now
        return None if self.silent else super().draw(method, now)


@pytest.mark.integration
def test_after_sixty_days_the_database_holds_what_the_site_shows(tmp_path: Path) -> None:
    path = write_demo(tmp_path / "demo")
    start = Snapshot.load(path, METRIC_DIRECTIONS).card.enabled_at
    crowd = Crowd(3, start, DAYS)
    crowd.fill(topics=70, messages=400, kernels=40)
    crowd.write(path / "community")
    # Watched from before anything was there: then no version is too old to be known.
    live_through(path, tmp_path / "bot.db", SiteSettings(seed=3), start - timedelta(days=4))


@pytest.mark.integration
@pytest.mark.trial
def test_after_sixty_days_of_a_real_competition_that_had_begun_too(tmp_path: Path) -> None:
    path = needs.snapshots() / "spooky-author-identification"
    if not path.is_dir():
        needs.missing("the folder of snapshots has no spooky-author-identification")
    start = Snapshot.load(path, METRIC_DIRECTIONS).card.enabled_at + timedelta(days=12)
    live_through(path, tmp_path / "bot.db", SiteSettings(seed=4, opening_post="left out"), start)


def live_through(path: Path, database: Path, settings: SiteSettings, start: datetime) -> None:
    """Let the days pass with a poller that is killed again and again, and compare what it has stored in the end."""
    snapshot = Snapshot.load(path, METRIC_DIRECTIONS)
    slug, title = snapshot.card.slug, snapshot.card.title
    context = ready_to_fork()
    clock = StoppingClock(start, DAYS * 86_400 / SECONDS)
    clock.end = start + timedelta(days=DAYS)
    faults, rng = CountingFaults(), random.Random(5)
    site = Site(snapshot, clock, settings, faults)
    with serving(site) as url:
        task = child.Task(database, url, slug, start, clock.speed, clock.began, clock.end)
        # Those that are killed would go on for ever, however slow the machine is.
        endless = replace(task, end=datetime.max.replace(tzinfo=UTC))
        for _ in range(KILLS):
            with polling(context, endless) as (process, _reports):
                time.sleep(rng.uniform(0.0, 2 * SECONDS / (KILLS + 5)))
            assert process.exitcode == -signal.SIGKILL
        with polling(context, task) as (process, reports):
            while clock.now() < clock.end:
                time.sleep(0.05)
            faults.silence()
            assert reports.recv() == child.SETTLED
            account(database, faults)
            shown = Reader(url, slug, title).read()
            compare(stored(database), shown, faults.first_source)
            reports.send(child.GO_ON)
            assert reports.recv() == child.DONE
            process.join()
            assert process.exitcode == 0
    found = stored(database)
    compare(found, shown, faults.first_source)
    # Votes move nothing: the latest ones are known when all was read again.
    for key, value in shown.signals.items():
        assert found.signals.get(key) == value, key


def ready_to_fork() -> ForkServerContext:
    """Return what makes processes that have imported all there is, and so begin at once."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([pytest.__name__, child.__name__])
    first = context.Process(target=int)
    first.start()
    first.join()
    return context


@contextmanager
def polling(context: ForkServerContext, task: child.Task) -> Iterator[tuple[ForkServerProcess, Connection]]:
    """Run a poller, from the moment when it begins to ask until it ends or is killed."""
    reports, sender = context.Pipe()
    process = context.Process(target=child.run, args=(task, sender))
    process.start()
    sender.close()
    try:
        assert reports.recv() == child.READY
        yield process, reports
    finally:
        process.kill()
        process.join()
        reports.close()


def compare(found: Shown, shown: Shown, first_source: datetime | None) -> None:
    """Compare what is stored with what is shown, row by row."""
    assert len(shown.topics) > 10 and len(shown.messages) > 50 and len(shown.versions) > 8
    assert found.topics == shown.topics
    assert found.messages == shown.messages
    too_old = versions_before(shown, first_source)
    missing = shown.versions.keys() - found.versions.keys()
    assert missing <= too_old
    assert found.versions == {id: row for id, row in shown.versions.items() if id not in missing}
    assert found.current == shown.current
    for id, at in found.run_at.items():
        # Of one that was missed nobody sender when it was run: it is dated later.
        assert at == shown.run_at[id] if id in shown.current else at >= shown.run_at[id]


def versions_before(shown: Shown, first_source: datetime | None) -> set[str]:
    """Return the versions that were superseded before the first source was asked for, and so are nobody's loss."""
    assert first_source is not None
    by_kernel: dict[str, list[str]] = {}
    for id in sorted(shown.versions, key=lambda id: (id.partition("/")[0], shown.versions[id][1])):
        by_kernel.setdefault(id.partition("/")[0], []).append(id)
    return {
        earlier
        for versions in by_kernel.values()
        for earlier, later in pairwise(versions)
        if shown.run_at[later] <= as_stored(first_source)
    }


def account(database: Path, faults: CountingFaults) -> None:
    """See that the site was never asked more than is allowed, and that every request was counted."""
    with closing(sqlite3.connect(database)) as opened:
        (counted,) = opened.execute("SELECT sum(count) FROM requestcount").fetchone()
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    asked, most = faults.by_day.total(), max(faults.by_day.values())
    print(f"{asked} requests, at most {most} a day, {counted} counted; {len(faults.injected)} went wrong")
    assert most <= CAP
    assert len(faults.injected) > min(10, asked // 100)  # on a busy machine fewer requests fit into these days
    # Counted before it is made: what an end has cut short may never have come to the site.
    assert asked <= counted
