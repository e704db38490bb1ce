"""Questions to a community as of a time, with a million observations in one competition.

Each is asked many times, of views at ten times over the competition's life, as a bot does whose clock moves; printed are
the median and the slowest in milliseconds, what the first asking in a process took, which makes the statement (not
counted with the others), and by how much the median lies under the goal. The database is filled past the ORM (which is
the ingest's business), lies on a disk and in the system's cache. Beside it lies a second competition of the same size,
which no answer may depend on.
"""

import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from state.clock import SystemClock
from state.community import CommunityView
from state.store import Store

GOAL = 50.0
"""Milliseconds."""
OBSERVATIONS = 1_000_000
START = datetime(2026, 1, 1, tzinfo=UTC)
LIFE = timedelta(days=90)
NAMES = ("a-competition-with-a-name-of-usual-length", "another-competition-of-the-same-size")
WORDS = ("fold", "leak", "boosting", "target", "encoding", "seed", "blend", "public", "score", "tokens", "augment")
REPEATS = 20


@dataclass(frozen=True)
class Size:
    """How many posts share the observations."""

    topics: int
    messages: int
    kernels: int
    """Versions, ten of each kernel."""

    @property
    def readings(self) -> int:
        """Observations of each post."""
        return OBSERVATIONS // (self.topics + self.messages + self.kernels)


SIZES = (Size(2_500, 15_000, 2_500), Size(250, 1_500, 250))


def stored(time: datetime) -> str:
    """Return a time as its column holds it."""
    return time.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


def at(place: int, of: int) -> datetime:
    """Return the time of the so-manieth of things that come evenly over the competition's life."""
    return START + LIFE * (place / of)


def prose(rng: random.Random, words: int) -> str:
    """Return a text."""
    return " ".join(rng.choices(WORDS, k=words))


def readings(competition: str, size: Size, rng: random.Random) -> Iterator[tuple[object, ...]]:
    """Yield observations from each post's time on: votes always, a kernel's score every eighth time, a tier seldom."""
    for target, count in (("topic", size.topics), ("message", size.messages), ("kernel", size.kernels)):
        for post in range(count):
            born = at(post, count)
            left = START + LIFE - born
            tiered = rng.randrange(size.readings * 2)
            for n in range(size.readings):
                score = round(rng.random(), 5) if target == "kernel" and n % 8 == 0 else None
                tier = "EXPERT" if n == tiered else None
                yield competition, target, str(post), stored(born + left * (n / size.readings)), n // 3, score, tier


def fill(path: Path, size: Size) -> None:
    """Write the competitions."""
    Store.open(path, SystemClock()).close()
    rng = random.Random(7)
    with closing(sqlite3.connect(path)) as database:
        for name in NAMES:
            database.executemany(
                "INSERT INTO topic (competition, id, title, author, posted_at, votes, sticky, deleted)"
                " VALUES (?, ?, ?, ?, ?, ?, 0, 0)",
                ((name, str(n), prose(rng, 6), "ann", stored(at(n, size.topics)), 3) for n in range(size.topics)),
            )
            database.executemany(
                "INSERT INTO message (competition, id, topic_id, author, posted_at, markdown, deleted)"
                " VALUES (?, ?, ?, ?, ?, ?, 0)",
                (
                    (
                        name,
                        str(n),
                        str(rng.randrange(1 + n * size.topics // size.messages)),
                        "ann",
                        stored(at(n, size.messages)),
                        prose(rng, 120),
                    )
                    for n in range(size.messages)
                ),
            )
            database.executemany(
                "INSERT INTO kernelversion (competition, id, ref, version, title, author, created_at, datasets, text)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, '[]', ?)",
                (
                    (
                        name,
                        str(n),
                        f"ann/kernel-{n % (size.kernels // 10)}",
                        n // (size.kernels // 10),
                        "Kernel",
                        "ann",
                        stored(at(n, size.kernels)),
                        prose(rng, 1_500),
                    )
                    for n in range(size.kernels)
                ),
            )
            database.executemany(
                "INSERT INTO observation (competition, target, target_id, at, votes, public_score, tier)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                readings(name, size, rng),
            )
        database.commit()


def narrow(size: Size) -> dict[str, Callable[[CommunityView], object]]:
    """Return the questions that a loop asks."""
    some = [f"message/{n * size.messages // 40}" for n in range(40)] + [
        f"kernel/{n * size.kernels // 20}" for n in range(20)
    ]
    return {
        "messages of one topic": lambda view: view.messages(str(size.topics // 20)),
        "60 posts by their ids, with signals": lambda view: view.find(some),
        "the newest 50 posts": lambda view: view.newest(50),
        "the newest 50 of the last 6 hours": lambda view: view.newest(50, view.as_of - timedelta(hours=6)),
        "counts": lambda view: view.counts(),
    }


FULL: dict[str, Callable[[CommunityView], Sequence[object]]] = {
    "all topics": lambda view: view.topics(),
    "all messages, with texts": lambda view: view.messages(),
    "all kernel versions, with texts": lambda view: view.kernels(),
    "all posts, with texts": lambda view: view.posts(),
}


def measure(store: Store, ask: Callable[[CommunityView], object], repeats: int) -> list[float]:
    """Return the milliseconds of each asking, the time of the view moving on."""
    taken = []
    for n in range(repeats):
        view = CommunityView(store, NAMES[0], START + LIFE * ((n % 10 + 1) / 10))
        began = time.perf_counter()
        ask(view)
        taken.append((time.perf_counter() - began) * 1000)
    return taken


def told(name: str, first: float, taken: list[float]) -> str:
    """Return a line of figures."""
    return f"  {name:36} {statistics.median(taken):7.1f} ms, slowest {max(taken):6.1f}, first {first:6.1f}"


def main() -> None:
    """Measure each size on a disk."""
    for size in SIZES:
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            path = Path(folder) / "state.db"
            fill(path, size)
            print(
                f"{OBSERVATIONS} observations of {size.topics} topics, {size.messages} messages, {size.kernels} kernel versions, "
                f"{size.readings} each; {path.stat().st_size / 1e6:.0f} MB with a second competition"
            )
            with Store.open(path, SystemClock()) as store:
                for name, ask in narrow(size).items():
                    first, *taken = measure(store, ask, REPEATS)
                    verdict = "met" if max(taken) < GOAL else "MISSED"
                    times = GOAL / statistics.median(taken)
                    print(f"{told(name, first, taken)}   {times:.1f} times under the goal of {GOAL:g} ms: {verdict}")
                for name, listing in FULL.items():
                    first, *taken = measure(store, listing, 11)
                    most = len(listing(CommunityView(store, NAMES[0], START + LIFE)))
                    print(f"{told(name, first, taken)}   ({most} at the end)")


if __name__ == "__main__":
    main()
