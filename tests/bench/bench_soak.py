"""Two simulated months of the daemon in one process: its memory after the first week and at the end, and its descriptors.

Competitions of `BOT_SNAPSHOTS` that last longer are played on the stand-in site, the slower the better: in the first week the
daemon is to have done all that it does later. With the default speed it takes some twenty minutes.
"""

import argparse
import os
import signal
import subprocess
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from statistics import median

from tests.bot.daemon.rehearsing import Rehearsal, Sample, rehearsal, sampled

SLUGS = ("leaf-classification", "bike-sharing-demand")
DAYS = 61.0
GOAL_GROWTH = 1.10


def told(samples: list[Sample]) -> None:
    """Print what was seen, a line for each week, and whether the goal is met."""
    start = samples[0].at
    weeks: dict[int, list[Sample]] = {}
    for one in samples:
        weeks.setdefault((one.at - start) // timedelta(days=7), []).append(one)
    for week, of_week in sorted(weeks.items()):
        memory, descriptors = median(s.memory for s in of_week), median(s.descriptors for s in of_week)
        print(f"week {week + 1}: {memory / 1e6:.0f} MB, {descriptors:.0f} descriptors")
    first = [one for one in samples if timedelta(days=6) <= one.at - start <= timedelta(days=8)]
    last = [one for one in samples if samples[-1].at - one.at <= timedelta(days=2)]
    growth = median(s.memory for s in last) / median(s.memory for s in first)
    more = median(s.descriptors for s in last) - median(s.descriptors for s in first)
    days = (samples[-1].at - start).days
    met = {True: "met", False: "MISSED"}[growth <= GOAL_GROWTH and more <= 0]
    print(f"{days} days: memory {growth:.2f} times that after the first week, {more:+.0f} descriptors: {met}")


def lived(it: Rehearsal, daemon: "subprocess.Popen[str]", days: float) -> int:
    """Let it run for so many simulated days, or to the end of all competitions, and end it; returns its exit status."""
    until = it.clock.now() + timedelta(days=days)
    while daemon.poll() is None and it.clock.now() < until:
        time.sleep(1)
    daemon.send_signal(signal.SIGTERM)
    return daemon.wait()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=float, default=4000.0)
    parser.add_argument("--days", type=float, default=DAYS)
    parser.add_argument("--competition", action="append", help="again and again; those above by default")
    arguments = parser.parse_args()
    named = os.environ.get("BOT_SNAPSHOTS")
    if not named:
        print("BOT_SNAPSHOTS names no folder of snapshots: nothing is measured")
        return
    paths = [Path(named) / slug for slug in arguments.competition or SLUGS]
    with tempfile.TemporaryDirectory() as folder, rehearsal(Path(folder), paths, speed=arguments.speed) as it:
        daemon = it.start()
        with sampled(it, daemon) as samples:
            status = lived(it, daemon, arguments.days)
    print(f"it ended with {status}")
    told(samples)


if __name__ == "__main__":
    main()
