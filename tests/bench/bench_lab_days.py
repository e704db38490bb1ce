"""Thirty simulated days of a live run in labs with a scripted model: disk, memory and new tokens, which are to be flat.

The stand-in site, the daemon and its labs (bubblewrap) are real. It prints a line a week: labs and new tokens a day, what a
day adds to the disk by part, the daemon's memory and descriptors. The last week is compared with the one that begins on day
11, when twenty labs have closed: a lab is shown the newest twenty. With the default speed it takes ten minutes.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from statistics import mean, median

from sandbox.bubblewrap import BubblewrapSandbox
from tests.bot.daemon.lab_days import lab_days
from tests.bot.daemon.rehearsing import Rehearsal, sampled
from tests.tiny_snapshot import SLUG

GOAL_GROWTH = 1.10
WEEK = 7


def sizes(it: Rehearsal) -> dict[str, int]:
    """Return the bytes on disk by part."""
    found = {"database": 0, "labs": 0, "executions": 0, "rest": 0}
    for path in (it.folder / "state").rglob("*"):
        if path.is_file() and not path.is_symlink():
            part = next((name for name in ("labs", "executions") if name in path.parts), "rest")
            part = "database" if path.name.startswith("bot.db") else part
            found[part] += path.stat().st_blocks * 512
    return found


def lived(it: Rehearsal, days: int) -> tuple[list[dict[str, int]], list[tuple[float, float]]]:
    """Let a daemon live for so many simulated days; return the disk's sizes at each midnight, memory and descriptors by day."""
    daemon, begin = it.start(), it.clock.now()
    disk: list[dict[str, int]] = []
    with sampled(it, daemon) as samples:
        while len(disk) <= days and daemon.poll() is None:
            if it.clock.now() >= begin + timedelta(days=len(disk)):
                disk.append(sizes(it))
            time.sleep(0.5)
        it.bot("stop", SLUG)
        daemon.wait(300)
    by_day: list[list[tuple[int, int]]] = [[] for _ in range(days)]
    for one in samples:
        if (day := (one.at - begin).days) < days:
            by_day[day].append((one.memory, one.descriptors))
    return disk, [(median(m for m, _ in day), median(d for _, d in day)) for day in by_day]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--day-seconds", type=float, default=20.0, help="of the machine, for one simulated day")
    parser.add_argument("--days", type=int, default=30)
    arguments = parser.parse_args()
    if problem := BubblewrapSandbox().problem():
        print(f"nothing is measured: {problem}")
        return
    with tempfile.TemporaryDirectory() as folder, lab_days(Path(folder), speed=86_400 / arguments.day_seconds) as it:
        disk, held = lived(it, arguments.days)
        days = sorted({at[:10] for (at,) in it.rows("SELECT at FROM event")})[: arguments.days]
        labs = dict(it.rows("SELECT substr(started_at, 1, 10), count(*) FROM lab GROUP BY 1"))
        took = it.rows("SELECT substr(at, 1, 10), prompt_tokens - cached_tokens + completion_tokens FROM modelcall")
        (prompts,) = (Path(folder) / "state" / "runs").glob("*/prompts.jsonl")
        written: Counter[str] = Counter()
        for line in prompts.open(encoding="utf-8"):
            written[json.loads(line)["at"][:10]] += len(line)
    tokens: Counter[str] = Counter()
    for day, new in took:
        tokens[day] += new
    figures = [
        {
            "opened": labs.get(day, 0),
            "tokens": tokens[day],
            "prompts.jsonl": written[day],
            **{part: disk[n + 1][part] - disk[n][part] for part in disk[0]},
            "memory": held[n][0],
            "descriptors": held[n][1],
        }
        for n, day in enumerate(days)
        if n + 1 < len(disk)
    ]
    for start in range(0, len(figures), WEEK):
        week = figures[start : start + WEEK]
        at = {name: mean(one[name] for one in week) for name in week[0]}
        grown = ", ".join(f"{name} {at[name] / 1e6:.2f}" for name in ("prompts.jsonl", *disk[0]))
        print(
            f"days {start + 1} to {start + len(week)}: {at['opened']:.1f} labs and {at['tokens']:.0f} new tokens a day; "
            f"MB a day: {grown}; {at['memory'] / 1e6:.0f} MB of memory, {at['descriptors']:.0f} descriptors"
        )
    if min(one["opened"] for one in figures) < 2:
        print("the machine was too slow for two labs a day: take longer days")
    early, late = figures[10 : 10 + WEEK], figures[-WEEK:]
    for name in ("tokens", "prompts.jsonl", "database", "labs", "executions", "memory"):
        growth = mean(one[name] for one in late) / max(1.0, mean(one[name] for one in early))
        print(f"{name}: {growth:.2f} times that of days 11 to 17: {'met' if growth <= GOAL_GROWTH else 'MISSED'}")


if __name__ == "__main__":
    main()
