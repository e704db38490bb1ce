"""What the tests of submitting share: a run in a database, a clock that does not wait, and a flow that dies at any point."""

import asyncio
import functools
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.submission import Quota, Submitter
from bot.submission.exactly_once import ExactlyOnce
from state.progress import create_node
from state.store import Store, Transaction
from state.submissions import submissions_of
from state.tables import Submission
from tests.scripted_site import ScriptedSite
from tests.site_submitter import SiteSubmitter, plain_client
from tests.state.conftest import StandingClock
from tests.state.derive import from_events, from_rows
from tests.state.rows import create_run

RUN = "tiny-aide-builtin-0-20200101T000000Z"
GRACE = 60.0


class HurriedClock(StandingClock):
    """Moves on at once when it is asked to sleep, lets others go on meanwhile, and remembers for how long."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.pass_by(seconds)
        await asyncio.sleep(0)


class Killed(BaseException):
    """Stands for `kill -9`: nothing of ours catches it."""


@dataclass
class Fate:
    """Kills at the boundary of this number, from 0; None never does."""

    at: int | None = None
    passed: int = 0
    seen: list[str] = field(default_factory=list)

    def boundary(self, where: str) -> None:
        self.seen.append(where)
        self.passed += 1
        if self.at == self.passed - 1:
            raise Killed(where)


class MortalStore(Store):
    """A store whose process may die before, in and after each write; what was not committed is not there then."""

    fate = Fate()

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Transaction]:
        self.fate.boundary("before a write")
        with super().write(durable=durable) as tx:
            yield tx
            self.fate.boundary("before its commit")
        self.fate.boundary("after its commit")


@dataclass(frozen=True)
class MortalSubmitter:
    """A submitter whose process may die before and after each call."""

    site: Submitter
    fate: Fate

    async def quota(self) -> Quota:
        self.fate.boundary("before asking for the quota")
        return await self.site.quota()

    async def submit(self, file: Path, tag: str) -> str:
        self.fate.boundary("before the act")
        try:
            return await self.site.submit(file, tag)
        finally:
            self.fate.boundary("after the act, before its confirmation")

    async def find(self, tag: str) -> str | None:
        self.fate.boundary("before looking")
        return await self.site.find(tag)

    async def score(self, ref: str) -> float | None:
        return await self.site.score(ref)


@dataclass(frozen=True)
class Life:
    """One process of a run, from its start to its end or its death."""

    store: Store
    once: ExactlyOnce
    site: SiteSubmitter
    clock: HurriedClock


@asynccontextmanager
async def life(
    folder: Path,
    site: ScriptedSite,
    clock: HurriedClock | None = None,
    *,
    fate: Fate | None = None,
    seconds: float = 10.0,
    act_seconds: float = 600.0,
) -> AsyncIterator[Life]:
    """Open the run's database and a client of the site, as a process does at its start; `fate` says when it dies.

    A silent site is waited for as long as `seconds`, the end of an upload as long as `act_seconds`.
    """
    clock, fate = clock or HurriedClock(), fate or Fate()
    database = folder / "state.db"
    if not database.exists():
        database.write_bytes(a_begun_run())
    with MortalStore.open(database, clock) as store:
        store.fate = fate
        async with plain_client() as client:
            submitter = SiteSubmitter(client, site.url, seconds=seconds)
            mortal, lock = MortalSubmitter(submitter, fate), folder / "lock"
            once = ExactlyOnce(store, RUN, mortal, clock, lock, grace=GRACE, act_seconds=act_seconds)
            yield Life(store, once, submitter, clock)


@functools.cache
def a_begun_run() -> bytes:
    """Return the database of a run that has done nothing yet; making one takes longer than most tests."""
    with tempfile.TemporaryDirectory() as place:
        with Store.open(Path(place) / "state.db", HurriedClock()) as store:
            begin(store)
        return (Path(place) / "state.db").read_bytes()


def begin(store: Store) -> None:
    """Make the run and its node, if they are not there."""
    with store.write() as tx:
        if not tx.session.connection().exec_driver_sql("SELECT 1 FROM run").first():
            create_run(tx, RUN, competition="tiny", agent="aide", model="builtin", seed=0, cutoff=None)
            create_node(tx, RUN, action="draft")


def a_file(folder: Path, content: str = "id,label\n1,0.5\n", name: str = "made.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def rows(store: Store) -> list[Submission]:
    with store.read() as session:
        return submissions_of(session, RUN)


def assert_events_match_rows(store: Store) -> None:
    """Submissions and the ledger can be derived from events alone."""
    derived, truth = from_events(store.export_events(RUN)), from_rows(store, RUN)
    assert (derived.submissions, derived.ledger) == (truth.submissions, truth.ledger)
