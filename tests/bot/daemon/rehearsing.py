"""A whole rehearsal: the stand-in site and the daemon as processes of their own, and receivers of the owner's notices."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import psutil

from state.clock import FastClock
from tests.bot.notify.receivers import HookSite, MailServer

TOKEN = "KGAT_" + "0123456789abcdef" * 2
PATIENCE = 60.0
"""Seconds after which a process that does not come up is given up."""


@dataclass
class Rehearsal:
    """What a test sees of it."""

    folder: Path
    slugs: Sequence[str]
    url: str
    mail: MailServer
    hook: HookSite
    site: "subprocess.Popen[str]"
    clock: FastClock
    """The site's."""
    starts: list["subprocess.Popen[str]"] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.folder / "bot.toml"

    def rows(self, query: str, *values: Any) -> list[Any]:
        """Return what the daemon's database holds now."""
        with closing(sqlite3.connect(f"file:{self.folder}/state/bot.db?mode=ro", uri=True)) as connection:
            return connection.execute(query, values).fetchall()

    @property
    def log(self) -> Path:
        return self.folder / "daemon.log"

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.folder),
            # Its days are seconds: waiting for cores that another bot holds would be weeks.
            "BOT_LEASES": str(self.folder / "leases"),
            "KAGGLE_API_TOKEN": TOKEN,
            "MAIL_URL": self.mail.url,
            "SLACK_URL": f"mmost://127.0.0.1:{self.hook.port}/{'a' * 26}",
        }

    def bot(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run another command beside the daemon."""
        command = [sys.executable, "-m", "bot", *arguments, "--config", str(self.config)]
        return subprocess.run(
            command, env=self.environment(), cwd=self.folder, capture_output=True, text=True, timeout=120
        )

    def start(self) -> "subprocess.Popen[str]":
        """Start the daemon, to run until all is over."""
        command = [sys.executable, "-m", "bot", "run", "--config", str(self.config), "--until-over"]
        with self.log.open("a") as log:
            begun = subprocess.Popen(command, env=self.environment(), cwd=self.folder, stderr=log, text=True)
        self.starts.append(begun)
        return begun

    def result(self, slug: str) -> dict[str, Any]:
        """Return the competition's result.json."""
        (found,) = (self.folder / "state" / "runs").glob(f"{slug.replace('-', '_')}-*/result.json")
        return dict(json.loads(found.read_text()))

    def final(self) -> dict[str, Any]:
        """End the site, and return by competition how it saw the end."""
        self.site.send_signal(signal.SIGTERM)
        out, _ = self.site.communicate(timeout=PATIENCE)
        return {one["competition"]: one for one in map(json.loads, out.splitlines())}


@contextmanager
def rehearsal(
    folder: Path,
    snapshots: Sequence[Path],
    *,
    speed: float,
    faults: str | None = None,
    sandbox: str = "process",
    model: str = "builtin",
    more: str = "",
    entered_after: timedelta = timedelta(),
    site_options: Sequence[str] = (),
) -> Iterator[Rehearsal]:
    """Have a site and its receivers while this lasts, entered so long after the start; all processes are gone afterwards.

    `site_options` are further ones of `bot rehearse`.
    """
    played = [json.loads((path / "snapshot.json").read_text()) for path in snapshots]
    start = min(datetime.fromisoformat(one["enabled_at"]) for one in played) + entered_after
    with MailServer() as mail, HookSite() as hook:
        command = [sys.executable, "-m", "bot", "rehearse", *map(str, snapshots), "--json", "--port", "0"]
        command += ["--speed", str(speed), "--token", TOKEN, "--start", start.isoformat()]
        command += site_options
        if faults is not None:
            (folder / "faults.toml").write_text(faults)
            command += ["--faults", str(folder / "faults.toml")]
        with (folder / "site.log").open("w") as log:
            site = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, cwd=folder)
        made = None
        try:
            announced = json.loads(site.stdout.readline())
            slugs = [one["slug"] for one in played]
            found = announced["clock"]
            clock = FastClock(datetime.fromisoformat(found["start"]), found["speed"], found["began"])
            made = Rehearsal(folder, slugs, announced["url"], mail, hook, site, clock)
            tables = "".join(
                f'[competitions.{one["slug"]}]\nsubmit = true\nmodel = "{model}"\n'
                f'rules_read = true\nmetric = "{one["metric"]["name"]}"\n'
                "max_submissions = 200\nreserved_submissions = 4\n"
                for one in played
            )
            made.config.write_text(
                f'[daemon]\ndir = "{folder}/state"\nrehearsal = true\n[run]\nsandbox = "{sandbox}"\n'
                f'[kaggle]\nurl = "{made.url}/v1"\n'
                '[notify]\nservices = ["MAIL_URL", "SLACK_URL"]\nper_hour = 1000\n'
                # A day is over in seconds: what is asked a hundred times a day would take all of the machine.
                "[polling]\ntopics = 10800\nkernels = 14400\ntop = 14400\nrereads = 43200\nscores = 21600\n"
                "submissions = 7200\ncompetitions = 43200\npages = 43200\ndata = 43200\noutputs = 86400\n"
                f"{more}{tables}"
            )
            yield made
        finally:
            for process in (*(made.starts if made else ()), site):
                process.kill()
                process.wait()
            if site.stdout is not None:
                site.stdout.close()


@dataclass(frozen=True)
class Sample:
    """What the daemon's own process held at a time of the site's clock."""

    at: datetime
    memory: int
    """Resident, in bytes."""
    descriptors: int


@contextmanager
def sampled(it: Rehearsal, process: "subprocess.Popen[str]") -> Iterator[list[Sample]]:
    """Look at a process twice a second while this lasts."""
    samples: list[Sample] = []
    over, one = threading.Event(), psutil.Process(process.pid)

    def look() -> None:
        with suppress(psutil.NoSuchProcess):
            while not over.wait(0.5):
                samples.append(Sample(it.clock.now(), one.memory_info().rss, one.num_fds()))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield samples
    finally:
        over.set()
        looking.join()


def wait_for(what: Any, seconds: float, process: "subprocess.Popen[str]") -> None:
    """Return once it holds; fails if that takes longer, or the process ends before."""
    until = time.monotonic() + seconds
    while not what():
        assert process.poll() is None, f"it ended with {process.returncode}"
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.2)
