"""The page over a daemon of twenty competitions, one of them with 5,000 nodes, and over a run of 5,000 nodes in a folder.

Printed is for each page the median time in milliseconds from the request to the last byte, through the server's guard and a
socket: it is answered as it was last read, and its stream brings it up to date. The first time it is read before it is answered.
Then how long after a commit an open page was sent the change, and how much memory the changes took.
"""

import asyncio
import http.client
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.status.presence import record_start
from state.clock import SystemClock
from state.series import take_reading
from state.store import NO_RUN, Store, as_stored
from tests.state.rows import create_run

SLUGS = tuple(f"a-competition-with-a-name-of-usual-length-{number}" for number in range(20))
LARGE, SMALL, LABS, IDEAS, MESSAGES, LEDGER, EVENTS = 5_000, 200, 40, 60, 3_000, 2_000, 5_000
"""Nodes of the first competition's run and of the others'; of each competition: the rest."""
LIFE = timedelta(days=30)
REPEATS = 9
CHANGES = 40
CARD = {"metric": {"name": "rmse", "direction": "minimize"}}
TOML = "[daemon]\ndir = 'state'\n\n" + "".join(f"[competitions.{slug}]\nsubmit = true\n" for slug in SLUGS)


def filled(path: Path, slugs: tuple[str, ...], cutoff: datetime | None = None) -> None:
    """Make a database."""
    start = datetime.now(UTC) - LIFE
    path.parent.mkdir(parents=True, exist_ok=True)
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        record_start(tx, 1)
        many = tx.connection.exec_driver_sql

        def at(place: int, of: int) -> str:
            return as_stored(start + LIFE * (place / of))

        for number, slug in enumerate(slugs):
            create_run(
                tx, slug, competition=slug, agent="comind", model="m", seed=0, cutoff=cutoff, config={"card": CARD}
            )
            nodes = LARGE if number == 0 else SMALL
            tx.record("entry.working", run_id=NO_RUN, competition=slug)
            for rank in range(30):
                standing = {"rank": 300 - rank, "teams": 1_000, "score": 0.5, "medal": None, "lines": {"gold": 0.4}}
                take_reading(tx, slug, "watch", "", {"standing": standing})
            tx.session.flush()
            many(
                "INSERT INTO node (run_id, id, action, parents, draft_id, plan, families, status, score, created_at, ended_at, "
                "seconds) VALUES (?, ?, 'improve', ?, ?, ?, '[]', ?, ?, ?, ?, 60)",
                [
                    (
                        *(
                            slug,
                            n,
                            json.dumps([] if n % 25 == 1 else [n - 1]),
                            str(n // 25),
                            "a plan of some words " * 20,
                        ),
                        *(
                            "valid" if n % 5 else "buggy",
                            1 - (n * 37 % 1_009) / 2_000 if n % 5 else None,
                            at(n, nodes),
                            at(n, nodes),
                        ),
                    )
                    for n in range(1, nodes + 1)
                ],
            )
            many(
                "INSERT INTO execution (run_id, id, node, view, attempt, reason, started_at) VALUES (?, ?, ?, 'v', 0, 'f', ?)",
                [(slug, str(n), n, at(n, nodes)) for n in range(1, nodes + 1)],
            )
            many(
                "INSERT INTO lab (run_id, id, parents, title, started_at, ended_at, turns, notes, report) "
                "VALUES (?, ?, '[]', 'a lab', ?, ?, 20, '[]', '{}')",
                [(slug, n, at(n, LABS), at(n, LABS) if n < LABS - 1 else None) for n in range(1, LABS)],
            )
            many(
                "INSERT INTO step (run_id, node, name, attempt, status, result, started_at) "
                "VALUES (?, ?, ?, ?, 'finished', ?, ?)",
                [
                    (
                        slug,
                        LABS - 1,
                        name,
                        turn if name == "lab.turn" else 0,
                        json.dumps({"text": "line\n" * 200}),
                        at(1, 1),
                    )
                    for turn in range(1, 21)
                    for name in ("lab.turn", f"turn:{turn}")
                ],
            )
            many(
                "INSERT INTO idea (run_id, id, text, sources, path, state, successors, reason, known_at, created_at) "
                "VALUES (?, ?, 'an idea of some words', '[\"message/1\"]', '', 'live', '[]', '', ?, ?)",
                [(slug, n, at(n, IDEAS), at(n, IDEAS)) for n in range(1, IDEAS)],
            )
            many(
                "INSERT INTO topic (competition, id, title, posted_at, sticky, deleted) VALUES (?, ?, 'a title', ?, 0, 0)",
                [(slug, str(n), at(n, MESSAGES)) for n in range(MESSAGES // 6)],
            )
            many(
                "INSERT INTO message (competition, id, topic_id, posted_at, markdown, deleted) VALUES (?, ?, ?, ?, ?, 0)",
                [(slug, str(n), str(n // 6), at(n, MESSAGES), "word " * 100) for n in range(MESSAGES)],
            )
            many(
                "INSERT INTO ledgerentry (run_id, at, kind, prompt_tokens, cached_tokens, completion_tokens, cost_usd) "
                "VALUES (?, ?, 'tokens', 900, 0, 100, 0.001)",
                [(slug, at(n, LEDGER)) for n in range(LEDGER)],
            )
            many(
                "INSERT INTO event (run_id, seq, at, type, node, data) VALUES (?, ?, ?, 'node.ended', 1, '{}')",
                [(slug, n + 1_000, at(n, EVENTS)) for n in range(EVENTS)],
            )


@contextmanager
def page(folder: Path) -> Iterator[tuple[int, str, int]]:
    """Serve the page in a process of its own; yields its port, its token and its process."""
    command = [sys.executable, "-m", "bot", "web", "--config", "bot.toml", "--port", "0", "runs"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        address, _, token = line.strip().partition("/?token=")
        yield int(address.rpartition(":")[2]), token, process.pid
    finally:
        process.terminate()
        process.wait()


def asked(port: int, path: str, cookie: str = "") -> tuple[float, bytes, str]:
    """Return milliseconds, the body, and the cookie that was set."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    begin = time.perf_counter()
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    body = answer.read()
    took = 1000 * (time.perf_counter() - begin)
    connection.close()
    return took, body, (answer.getheader("Set-Cookie") or "").partition(";")[0]


def touch(path: Path) -> None:
    """Write something."""
    with Store.open(path, SystemClock()) as store, store.write() as tx:
        tx.record("run.beat", run_id=SLUGS[0])


def resident(process: int) -> float:
    """Return a process's resident memory in MB."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 1e6


def delays(port: int, cookie: str, database: Path, process: int) -> tuple[list[float], float]:
    """Return the seconds from each commit to the event of an open page, and by how many MB the server grew meanwhile."""
    seen, found = threading.Event(), list[float]()

    async def listen() -> None:
        reading, writing = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
        head = f"GET /stream/competition/{SLUGS[0]} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
        writing.write(head.encode())
        while line := await reading.readline():
            if line.startswith(b"data: "):
                seen.set()

    threading.Thread(target=lambda: asyncio.run(listen()), daemon=True).start()
    assert seen.wait(120)
    before = 0.0
    for number in range(CHANGES):
        time.sleep(0.3)
        seen.clear()
        with Store.open(database, SystemClock()) as store:
            with store.write() as tx:
                tx.record("phase.began", run_id=SLUGS[0], phase=str(number), sentence=f"phase {number}")
            begin = time.perf_counter()
        assert seen.wait(120)
        found.append(time.perf_counter() - begin)
        before = before or resident(process)
    return found, resident(process) - before


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "bot.toml").write_text(TOML, encoding="utf-8")
        database, run = folder / "state" / "bot.db", folder / "runs" / SLUGS[0]
        filled(database, SLUGS)
        filled(run / "state.db", SLUGS[:1], datetime.now(UTC))
        (run / "config.json").write_text(json.dumps({"run_id": SLUGS[0], "settings": {"time": 60}}), encoding="utf-8")
        with page(folder) as (port, token, process):
            cookie = asked(port, f"/?token={token}")[2]
            for name, path, file in (
                ("all competitions", "/", database),
                ("a competition of 5,000 nodes", f"/competition/{SLUGS[0]}", database),
                ("a competition of 200 nodes", f"/competition/{SLUGS[1]}", database),
                ("a run of 5,000 nodes", f"/run/{SLUGS[0]}", run / "state.db"),
                ("one of its nodes", f"/run/{SLUGS[0]}/node/4999", run / "state.db"),
                ("the system", "/system", database),
            ):
                first, _, _ = asked(port, path, cookie)
                times, size = [], 0
                for _ in range(REPEATS):
                    touch(file)
                    took, body, _ = asked(port, path, cookie)
                    times.append(took)
                    size = len(body)
                usual = f"{statistics.median(times):7.1f} ms, {max(times):.1f} at most"
                print(f"{name:32} {usual}, {first:.0f} the first time; {size / 1000:.0f} kB")
            found, grown = delays(port, cookie, database, process)
            print(f"an event after a commit          {statistics.median(found):7.2f} s  {max(found):7.2f} at most")
            print(f"memory after {CHANGES} changes {grown:+.1f} MB, in all {resident(process):.0f} MB")


if __name__ == "__main__":
    main()
