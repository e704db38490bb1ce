"""What a daemon takes that has nothing to do: five competitions, all of them paused, at real time, polled as they are.

The competitions are the snapshots in `BOT_SNAPSHOTS` on the stand-in site, half way through, each in a clock of real
time. What is measured begins when the first reading of all of them has ended; the processor time is that of the daemon
and of its children.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

import psutil

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.snapshots.snapshot import Snapshot

TOKEN = "KGAT_" + "0123456789abcdef" * 2
GOAL_SHARE, GOAL_BYTES = 0.01, 200_000_000


def measure(snapshots: list[Path], seconds: float, settle: float) -> None:
    """Start a site and a daemon, wait until the first reading is over, and print what the daemon then takes."""
    cards = [Snapshot.load(path, METRIC_DIRECTIONS).card for path in snapshots]
    begins = min(card.enabled_at for card in cards)
    start = begins + min(card.deadline - card.enabled_at for card in cards) / 2
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "bot.toml"
        command = [sys.executable, "-m", "bot", "rehearse", *map(str, snapshots), "--json", "--port", "0"]
        command += ["--speed", "1", "--token", TOKEN, "--start", start.isoformat()]
        site = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        daemon = None
        try:
            url = json.loads(site.stdout.readline())["url"] if site.stdout else ""
            tables = "".join(
                f'[competitions.{card.slug}]\nsubmit = true\nrules_read = true\nmodel = "builtin"\n'
                f'metric = "{card.metric.name}"\n'
                for card in cards
            )
            fast = "[kaggle.pace]\nper_minute = 6000\napart = 0\nper_day = 100000\n"
            config.write_text(
                f'[daemon]\ndir = "{folder}/state"\nrehearsal = true\nsandbox = "process"\n'
                f'[kaggle]\nurl = "{url}/v1"\n{fast}{tables}'
            )
            for card in cards:
                subprocess.run(
                    [sys.executable, "-m", "bot", "pause", card.slug, "--config", str(config)],
                    check=True,
                    stdout=subprocess.DEVNULL,
                )
            daemon = subprocess.Popen(
                [sys.executable, "-m", "bot", "run", "--config", str(config)],
                env={**os.environ, "KAGGLE_API_TOKEN": TOKEN},
                stderr=subprocess.DEVNULL,
            )
            print(f"{len(cards)} competitions; settling for {settle:.0f} s", flush=True)
            time.sleep(settle)
            told(psutil.Process(daemon.pid), seconds)
        finally:
            for process in (daemon, site):
                if process is not None:
                    process.send_signal(signal.SIGTERM)
                    process.wait(60)


def told(process: psutil.Process, seconds: float) -> None:
    """Measure for so long, and print it."""
    before = taken(process)
    time.sleep(seconds)
    share = (taken(process) - before) / seconds
    memory = sum(one.memory_info().rss for one in (process, *process.children(recursive=True)))
    met = {True: "met", False: "MISSED"}
    print(f"{share:.2%} of one core over {seconds:.0f} s; goal {GOAL_SHARE:.0%}: {met[share <= GOAL_SHARE]}")
    print(
        f"{memory / 1e6:.0f} MB resident, children included; goal {GOAL_BYTES / 1e6:.0f} MB: {met[memory <= GOAL_BYTES]}"
    )


def taken(process: psutil.Process) -> float:
    """Return the processor seconds that it and its children took so far."""
    times = process.cpu_times()
    living = sum(sum(one.cpu_times()[:2]) for one in process.children(recursive=True))
    return float(times.user + times.system + times.children_user + times.children_system + living)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=timedelta(minutes=3).total_seconds())
    parser.add_argument("--settle", type=float, default=timedelta(minutes=7).total_seconds())
    arguments = parser.parse_args()
    named = os.environ.get("BOT_SNAPSHOTS")
    if not named:
        print(
            "BOT_SNAPSHOTS names no folder of snapshots, and one competition alone is no measure: nothing is measured"
        )
        return
    found = sorted(path.parent for path in Path(named).glob("*/snapshot.json"))[:5]
    measure(found, arguments.seconds, arguments.settle)


if __name__ == "__main__":
    main()
