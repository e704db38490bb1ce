"""Seconds until the first experiment of a 20-minute run, with 300 topics to read and an endpoint that takes 5 s a call.

The whole program runs (`bot replay` with bubblewrap, the endpoint on loopback), once with scripts and once with labs, and is
stopped when a coder's first script has started, or the first experiment of a lab is logged. The baseline and public notebooks,
which need no coder, do not count.
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from sandbox.bubblewrap import BubblewrapSandbox
from tests.bot.replay.scripted_answers import LabAnswers, read_in
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint
from tests.source_tree import ROOT
from tests.tiny_snapshot import write_tiny

GOAL = 120.0
LIMIT = 300.0
"""Seconds after which it is given up."""
_STATE = """
SELECT EXISTS (SELECT 1 FROM experiment) OR EXISTS (
    SELECT 1 FROM execution JOIN node ON node.run_id = execution.run_id AND node.id = execution.node
    WHERE node.id > 1 AND node.action != 'reproduce'
)
"""


class SlowAnswers(LabAnswers):
    """Answers each request after some seconds, and keeps what was asked before a coder's first one."""

    def __init__(self, seconds: float) -> None:
        """Take the seconds of a call."""
        super().__init__()
        self._seconds = seconds
        self.calls = 0
        self.documents: list[str] = []
        """Those that were read, a prompt after the other."""

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        self.calls += 1
        self.documents += read_in(str(request.body["messages"][1]["content"]))
        answer = super().__call__(request)
        reply = Reply(answer) if isinstance(answer, str) else answer
        return Reply(reply.text, calls=reply.calls, delay=self._seconds)


def write_community(folder: Path, topics: int) -> None:
    """Add topics with three messages each, of different words, to the small competition's forum."""
    lines: dict[str, list[dict[str, Any]]] = {"topics": [], "messages": []}
    for number in range(topics):
        posted = {"author": f"a{number % 40}", "tier": "EXPERT", "posted_at": "2020-02-01T00:00:00Z"}
        topic = {
            "id": 100 + number,
            "title": f"Finding {number}",
            "votes": number % 50,
            "url": None,
            "source": "made up",
        }
        lines["topics"].append(posted | topic)
        for part in range(3):
            words = " ".join(f"w{number * 977 + part * 131 + one}" for one in range(60))
            message = {"id": 1000 + 3 * number + part, "topic_id": 100 + number, "parent_id": None, "edited_at": None}
            text = f"In five folds feature {number} brought {0.001 * (part + 1):.3f}: {words}."
            lines["messages"].append(posted | message | {"votes": part, "markdown": text, "deleted": False})
    for name, rows in lines.items():
        with (folder / "community" / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def first_experiment(folder: Path, coder: str, topics: int, seconds: float) -> None:
    """Run the bot until its first experiment, and print when that was."""
    snapshot = write_tiny(folder / "tiny-table")
    write_community(snapshot, topics)
    with ScriptedEndpoint(answers := SlowAnswers(seconds)) as endpoint:
        environment = os.environ | {
            "OPENAI_BASE_URL": endpoint.url,
            "BOT_LEASES": str(folder / "leases"),
            "PYTHONPATH": str(ROOT),
        }
        command = [
            sys.executable,
            "-m",
            "bot",
            "replay",
            str(snapshot),
            "--model",
            "openai:x",
            "--sandbox",
            "bubblewrap",
        ]
        command += ["--time", "20m", "--coder", coder, "--out", str(folder / "runs")]
        began = time.monotonic()
        with (folder / "log").open("wb") as log:
            bot = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
        while not (has_one := has_experiment(folder)) and bot.poll() is None and time.monotonic() - began < LIMIT:
            time.sleep(0.2)
        took, calls, read = time.monotonic() - began, answers.calls, len(answers.documents)
        bot.send_signal(signal.SIGTERM)
        bot.wait()
    if not has_one:
        print((folder / "log").read_text(errors="replace")[-2000:])
    met = "met" if has_one and took < GOAL else "MISSED"
    print(
        f"{coder}: the first experiment came after {took:.0f} s, {calls} calls, {read} of {topics} topics in them: {met}"
    )


def has_experiment(folder: Path) -> bool:
    """Return whether the run below a folder has an experiment of a coder."""
    for path in folder.glob("runs/*/state.db"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            try:
                return bool(database.execute(_STATE).fetchone()[0])
            except sqlite3.OperationalError:
                return False  # its tables are not there yet
    return False


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--topics", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=5.0, help="that each call takes")
    arguments = parser.parse_args()
    if problem := BubblewrapSandbox().problem():
        print(f"nothing is measured: {problem}")
        return
    for coder in ("script", "lab"):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            first_experiment(Path(folder), coder, arguments.topics, arguments.seconds)


if __name__ == "__main__":
    main()
