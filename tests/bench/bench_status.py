"""Looking into the database of a daemon that has run two months with five competitions, while it is written to.

Printed are for each question the median time and the median of the processor's time in milliseconds, and how long a writer
waited at most for a commit while questions were asked without a pause, beside the same without them. The database is filled
past the ORM, lies on a disk and in the system's cache. Of each competition's ten notes one is not read yet.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.budgets.settings import BudgetSettings, Caps
from bot.configuration.competition import CompetitionSettings
from bot.status.accounts import Allowance
from bot.status.status import status_of
from bot.status.summary import budget_notices, daily_summary
from state.clock import SystemClock
from state.store import Store, as_stored
from tests.state.rows import create_run

SLUGS = tuple(f"a-competition-with-a-name-of-usual-length-{number}" for number in range(5))
MESSAGES, KERNELS, NODES, CALLS, ENTRIES, EVENTS, OWN_EVENTS = 15_000, 2_500, 1_500, 4_000, 8_000, 40_000, 20_000
"""Of each competition; own events are those of no run, of all."""
LIFE = timedelta(days=60)
REPEATS = 15
CARD = {"metric": {"name": "rmse", "direction": "minimize"}}


def filled(path: Path) -> None:
    """Make the database."""
    end = datetime.now(UTC)
    start = end - LIFE
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        for slug in SLUGS:
            create_run(
                tx, slug, competition=slug, agent="comind", model="m", seed=0, cutoff=None, config={"card": CARD}
            )
        many = tx.connection.exec_driver_sql
        held = [f"message/{n}" for n in range(100)] + [f"note/{n}" for n in range(1, 51) if n % 10]
        items = json.dumps([{"id": item, "time": "2026-01-01T00:00:00Z"} for item in held])

        def at(place: int, of: int) -> str:
            return as_stored(start + LIFE * (place / of))

        for slug in SLUGS:
            many(
                "INSERT INTO topic (competition, id, title, posted_at, sticky, deleted) VALUES (?, ?, 'a', ?, 0, 0)",
                [(slug, str(n), at(n, MESSAGES)) for n in range(MESSAGES // 6)],
            )
            many(
                "INSERT INTO message (competition, id, topic_id, posted_at, markdown, deleted) VALUES (?, ?, ?, ?, ?, 0)",
                [(slug, str(n), str(n // 6), at(n, MESSAGES), "word " * 100) for n in range(MESSAGES)],
            )
            many(
                "INSERT INTO kernelversion (competition, id, ref, title, created_at, datasets, text) "
                "VALUES (?, ?, ?, 'a', ?, '[]', ?)",
                [(slug, str(n), f"u/{n // 3}", at(n, KERNELS), "code " * 1_000) for n in range(KERNELS)],
            )
            many(
                "INSERT INTO node (run_id, id, action, parents, plan, families, status, score, created_at, ended_at) "
                "VALUES (?, ?, 'draft', '[]', '', '[]', 'valid', ?, ?, ?)",
                [(slug, n, 1 / (n + 1), at(n, NODES), at(n, NODES)) for n in range(1, NODES)],
            )
            many(
                "INSERT INTO execution (run_id, id, node, view, attempt, reason, started_at) VALUES (?, ?, ?, 'v', 0, 'f', ?)",
                [(slug, str(n), n, at(n, NODES)) for n in range(1, NODES)],
            )
            many(
                "INSERT INTO ledgerentry (run_id, at, kind, prompt_tokens, cached_tokens, completion_tokens, cost_usd) "
                "VALUES (?, ?, 'tokens', 900, 0, 100, 0.001)",
                [(slug, at(n, ENTRIES)) for n in range(ENTRIES)],
            )
            many(
                "INSERT INTO modelcall (run_id, seq, step, role, prompt_name, model, as_of, items, messages_sha, answer_sha, "
                "prompt_hash, prompt_tokens, cached_tokens, completion_tokens, at) "
                "VALUES (?, ?, 's', 'coder', 'p', 'm', ?, ?, '', '', '', 1, 0, 1, ?)",
                [(slug, n, at(n, CALLS), items, at(n, CALLS)) for n in range(1, CALLS)],
            )
            many(
                "INSERT INTO event (run_id, seq, at, type, data) VALUES (?, ?, ?, 'ledger.charged', ?)",
                [(slug, n, at(n, EVENTS), '{"kind": "tokens", "role": "coder"}') for n in range(2, EVENTS)],
            )
        own = [("notification.sent", '{"key": "a"}'), ("entry.working", json.dumps({"competition": SLUGS[0]}))]
        many(
            "INSERT INTO event (run_id, seq, at, type, data) VALUES ('bot', ?, ?, ?, ?)",
            [(n, at(n, OWN_EVENTS), *own[n % 20 == 0]) for n in range(1, OWN_EVENTS)],
        )
        many(
            "INSERT INTO note (competition, text, at, by) VALUES (?, 'look', ?, 'me')",
            [(slug, at(n, 10)) for slug in SLUGS for n in range(10)],
        )


def timed(question: Callable[[], object]) -> tuple[float, float]:
    """Return the medians of the time and of the processor's time of many askings in milliseconds; the first is not counted."""
    question()
    took = []
    for _ in range(REPEATS):
        began = time.perf_counter(), time.process_time()
        question()
        took.append(((time.perf_counter() - began[0]) * 1e3, (time.process_time() - began[1]) * 1e3))
    return statistics.median(wall for wall, _ in took), statistics.median(processor for _, processor in took)


def slowest_commit(store: Store, seconds: float) -> float:
    """Return the longest that one of many commits took, in milliseconds."""
    slowest, end = 0.0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        with store.write(durable=False) as tx:
            tx.record("bench.tick", run_id="bench")
        slowest = max(slowest, (time.perf_counter() - began) * 1e3)
    return slowest


ASKING = """
import sys
from pathlib import Path
from bot.status.accounts import Allowance
from bot.status.status import status_of
from state.clock import SystemClock
from state.store import Store
print("begun", flush=True)
while True:
    with Store.open_to_read(Path(sys.argv[1]), SystemClock()) as store:
        status_of(store, Allowance())
"""


@contextmanager
def asking(path: Path) -> Iterator[None]:
    """Ask how all stands again and again in another process while this lasts."""
    with subprocess.Popen([sys.executable, "-c", ASKING, str(path)], stdout=subprocess.PIPE) as other:
        if other.stdout is not None:
            other.stdout.readline()
        try:
            yield
        finally:
            other.kill()


def main() -> None:
    """Print the figures."""
    allowance = Allowance(BudgetSettings(day=Caps(money=1.0)), {slug: CompetitionSettings() for slug in SLUGS})
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder).absolute() / "bot.db"
        filled(path)
        print(f"{path.stat().st_size / 1e6:.0f} MB")
        with Store.open(path, SystemClock()) as daemon, Store.open_to_read(path, SystemClock()) as store:
            now = datetime.now(UTC)
            questions: dict[str, Callable[[], object]] = {
                "open to read": lambda: Store.open_to_read(path, SystemClock()).close(),
                "bot status": lambda: status_of(store, allowance),
                "budget notices": lambda: budget_notices(store, allowance, now),
                "the day's summary": lambda: daily_summary(store, now.date(), now, allowance),
            }
            for name, question in questions.items():
                wall, processor = timed(question)
                print(f"{name:20} {wall:8.1f} ms, of the processor {processor:8.1f} ms")
            alone = slowest_commit(daemon, 3.0)
            with asking(path):
                beside = slowest_commit(daemon, 3.0)
            print(f"slowest commit       {alone:8.1f} ms, {beside:8.1f} ms beside `bot status` without a pause")


if __name__ == "__main__":
    main()
