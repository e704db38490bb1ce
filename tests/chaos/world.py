"""A world to kill bots in: a small competition, a model behind HTTP that answers alike however often it is asked, and runs."""

import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bot.replay.scripted_answers import LabAnswers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, failure
from tests.source_tree import ROOT
from tests.tiny_snapshot import write_tiny

PRICE = 2.0
"""USD a million tokens, in and out, of the scripted model."""
TOKENS = {"prompt_tokens": 500, "completion_tokens": 300}
CALL_COST = PRICE * sum(TOKENS.values()) / 1e6

_SCRIPT = """
import csv, math, sys
if {broken}:
    sys.exit("broken on purpose")
def predict(table, sample, out):
    rows = list(csv.DictReader(open(f"data/{{table}}")))
    with open(out, "w") as file:
        file.write("id,label\\n")
        for row in rows:
            # Each script errs on other rows, so that they are blended.
            a, b, c = (float(row[name]) for name in "abc")
            p = 1 / (1 + math.exp(b - 2 * a - 2 * math.sin(3 * c) - math.sin({c} * 1000 * c)))
            file.write(f"{{row['id']}},{{p}}\\n")
predict("test.csv", "sample_submission.csv", "submission.csv")
predict("validation.csv", "sample_validation.csv", "validation_predictions.csv")
import time
time.sleep({seconds})
"""


_COPY = """
import shutil  # {c} {broken} {seconds}
shutil.copy("data/sample_submission.csv", "submission.csv")
shutil.copy("data/sample_validation.csv", "validation_predictions.csv")
"""


_TOLD = r"^(?:# Your (?:draft|task)|## Node|Plan:|- node|Write |The last script).*"


class SteadyAnswers(LabAnswers):
    """Answers a prompt by what is to be done and what was planned before: figures, and what scripts print, change with time."""

    def __init__(
        self, *, seconds: float = 0.0, copies: bool = False, faulty: Callable[[int], Reply | None] = lambda number: None
    ) -> None:
        """Take how long each script sleeps, whether it only copies the sample, and what goes wrong with the n-th request."""
        super().__init__(**TOKENS)
        self._template = _COPY if copies else _SCRIPT
        self._seconds = seconds
        self._faulty = faulty
        self._lock = threading.Lock()
        self._count = 0

    def __call__(self, request: Request) -> Reply | str:
        """Answer one request."""
        with self._lock:
            self._count += 1
            fault = self._faulty(self._count)
            answer = super().__call__(request)
        if fault is not None:
            return fault
        if not isinstance(answer, Reply):
            return Reply(answer, **TOKENS)
        if answer.calls:
            return answer
        lines = re.findall(_TOLD, str(request.body["messages"][1]["content"]), flags=re.MULTILINE)
        words = re.findall(r"[A-Za-z]{2,}|\(\d+\)", " ".join(lines))
        number = int(hashlib.sha256(" ".join(words).encode()).hexdigest(), 16)
        script = self._template.format(c=0.2 + number % 97 / 50, broken=number % 5 == 1, seconds=self._seconds)
        return Reply(f"A plan with {number % 97}.\n\n```python\n{script}\n```\n", **TOKENS)


def bad_days(number: int) -> Reply | None:
    """Return what goes wrong at an endpoint now and then."""
    faults = {
        7: failure(429, "slow down", retry_after="0"),
        13: failure(500, "our fault"),
        19: Reply("half an answer", cut_after=40),
        23: Reply(body="<html>not JSON</html>"),
        29: Reply(""),
    }
    return faults.get(number % 31)


@dataclass
class World:
    """One place with a competition, an endpoint and runs."""

    place: Path
    endpoint: ScriptedEndpoint
    sandbox: str = "process"
    options: Sequence[str] = ()
    """Of `bot replay`."""
    price: float = PRICE
    """USD a million tokens."""
    kills: int = 0
    lives: int = 0
    snapshots: Sequence[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.place.mkdir(parents=True, exist_ok=True)
        if not self.snapshots:
            self.snapshots = [write_tiny(self.place / "tiny-table", rows=2000, wave=2.0)]
        prices = f"[models.prices]\nx = {{input = {self.price}, output = {self.price}}}\n"
        (self.place / "bot.toml").write_text(f"[models]\nmax_tokens = 1000\n{prices}")

    @property
    def out(self) -> Path:
        """Folder of the runs."""
        return self.place / "runs"

    def command(self) -> list[str]:
        """Return what a person would type next: `replay` first, `resume` afterwards."""
        if list(self.out.glob("*/config.json")):
            return ["resume", str(self.out), "--json"]
        paths = [str(path) for path in self.snapshots]
        common = ["--model", "openai:x", "--sandbox", self.sandbox, "--out", str(self.out), "--json"]
        return ["replay", *paths, *common, "--coder", "script", *self.options]

    def start(self, *, doom: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        """Start the bot, or go on with what it was killed in; `doom` says where it kills itself."""
        self.lives += 1
        program = [sys.executable, "-m", *(["tests.chaos.doomed", *doom, "--"] if doom else ["bot"])]
        environment = {
            **os.environ,
            "OPENAI_BASE_URL": self.endpoint.url,
            "BOT_LEASES": str(self.place / "leases"),
            "PYTHONPATH": str(ROOT),
        }
        with (self.place / "log").open("ab") as log, (self.place / "results").open("wb") as results:
            return subprocess.Popen(
                [*program, *self.command()], env=environment, cwd=self.place, stdout=results, stderr=log
            )

    def live(
        self,
        seconds: float | None = None,
        *,
        doom: Sequence[str] = (),
        sign: int = signal.SIGKILL,
        at_work: bool = False,
    ) -> bool:
        """Let the bot live so long, or to its end; return whether it came to its end by itself.

        With `at_work` the seconds count from its first line on stderr: how long it takes to start depends on the machine.
        """
        log = self.place / "log"
        before = log.stat().st_size if log.exists() else 0
        process = self.start(doom=doom)
        if at_work:
            wait_until(lambda: log.stat().st_size > before or process.poll() is not None, 300)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(sign)
            process.wait()
        if process.returncode >= 0 and sign == signal.SIGKILL:
            return True
        self.kills += 1
        return process.returncode >= 0 and seconds is None

    def log(self) -> str:
        """Return the end of what the bot said on stderr."""
        return (self.place / "log").read_text(errors="replace")[-4000:]


def wait_until(happened: Callable[[], bool], seconds: float) -> bool:
    """Return whether something happened within so many seconds."""
    give_up = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True
