"""Thirty days of two live competitions through one open page, in an hour: what the page's server and its tab take, and whether
both grow.

The daemon competes with the built-in model on the stand-in site, at 720 times the pace of the days; `bot web` shows it, and a
browser keeps the page of one competition open. Growth is what they take in the last two days over that after the first week.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median

import psutil

from tests.bot.daemon.rehearsing import Rehearsal, rehearsal
from tests.browser import Browser, browser

SLUGS = ("spooky-author-identification", "nomad2018-predict-transparent-conductors")
GOAL_GROWTH = 1.10


@dataclass(frozen=True)
class Look:
    """What was there after some days."""

    day: float
    server: int
    """Resident bytes of `bot web`."""
    heap: int
    """Bytes of the page's scripts after their garbage is collected."""
    elements: int
    """Of the document."""
    events: int
    """In the daemon's database."""
    live: bool
    """Whether the page says that its stream is open."""


def looked(it: Rehearsal, tab: Browser, server: psutil.Process, day: float) -> Look:
    tab.call("HeapProfiler.collectGarbage")
    heap = int(tab.call("Runtime.getHeapUsage")["usedSize"])
    tab.events.clear()
    elements = int(tab.run("document.getElementsByTagName('*').length"))
    live = tab.run("document.getElementById('state')?.innerText") == "connected"
    ((events,),) = it.rows("SELECT count(*) FROM event")
    return Look(day, server.memory_info().rss, heap, elements, int(events), live)


def told(looks: list[Look]) -> None:
    """Print a line for every third day, and whether the goals are met."""
    for look in looks[:: max(1, len(looks) // 10)]:
        print(
            f"day {look.day:4.1f}: {look.events:,} events; server {look.server / 1e6:.0f} MB; tab {look.heap / 1e6:.1f} MB, "
            f"{look.elements:,} elements, {'live' if look.live else 'NOT LIVE'}"
        )
    first = [one for one in looks if 6 <= one.day <= 8]
    last = [one for one in looks if looks[-1].day - one.day <= 2]
    # Elements grow with what there is to show, up to the bounds of each list.
    for name in ("server", "heap"):
        growth = median(getattr(one, name) for one in last) / median(getattr(one, name) for one in first)
        print(f"{name}: {growth:.2f} times that after the first week{'' if growth <= GOAL_GROWTH else ' MISSED'}")
    print(f"live in {sum(one.live for one in looks)} of {len(looks)} looks")


def watched(it: Rehearsal, folder: Path, days: float) -> list[Look]:
    """Keep the page open for so many days of the site, and look twice a day."""
    looks: list[Look] = []
    command = [sys.executable, "-m", "bot", "web", "--config", str(it.config), "--port", "0"]
    with subprocess.Popen(command, env=it.environment(), cwd=it.folder, stdout=subprocess.PIPE, text=True) as web:
        assert web.stdout is not None
        address = next(line for line in web.stdout if "token=" in line).split()[-1]
        with browser(folder / "profile") as tab:
            tab.open(address)
            tab.open(f"{address.partition('/?')[0]}/competition/{SLUGS[0]}")
            start, server = it.clock.now(), psutil.Process(web.pid)
            while (day := (it.clock.now() - start) / timedelta(days=1)) < days:
                looks.append(looked(it, tab, server, day))
                time.sleep(43_200 / it.clock.speed)
            tab.picture(folder / "page.png")
        web.terminate()
    return looks


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", type=float, default=720.0)
    parser.add_argument("--days", type=float, default=30.0)
    parser.add_argument("--keep", type=Path, help="a folder for what is left, with a picture of the page at the end")
    arguments = parser.parse_args()
    named = os.environ.get("BOT_SNAPSHOTS")
    if not named:
        print("BOT_SNAPSHOTS names no folder of snapshots: nothing is measured")
        return
    paths = [Path(named) / slug for slug in SLUGS]
    with tempfile.TemporaryDirectory() as passing:
        folder = arguments.keep or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        with rehearsal(folder, paths, speed=arguments.speed) as it:
            it.start()
            time.sleep(20)
            told(watched(it, folder, arguments.days))


if __name__ == "__main__":
    main()
