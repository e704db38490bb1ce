"""Tests of a lab whose bot is killed again and again: nothing is paid, run or scored twice."""

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from sqlmodel import col, select

from state.clock import SystemClock
from state.store import Store
from state.tables import Lab, ModelCall, Node, Step
from tests import needs
from tests.bot.coder.lab.doomed import REPLIES

pytestmark = pytest.mark.integration
KILLS = 20
LONGEST_LIFE = 2.5


def test_twenty_kills_change_no_reply_and_no_node(tmp_path: Path) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    live(calm)
    rng, kills = random.Random(5), 0
    while not (killed / "ended").exists():
        # Past so many kills it is left in peace; a life always goes on from where the one before ended.
        kills += live(killed, None if kills >= KILLS else rng.uniform(0.3, LONGEST_LIFE))
    assert kills >= KILLS / 2
    with reading(calm) as undisturbed, reading(killed) as disturbed:
        assert nodes(disturbed) == nodes(undisturbed)
        paid = Counter(step for step, _ in answers(disturbed))
        assert max(paid.values()) == 1
        interrupted = [text for text in seen(disturbed) if "[interrupted" in text]
        assert len(seen(disturbed)) <= len(seen(undisturbed)) + len(interrupted)
        with disturbed.read() as session:
            (lab,) = session.exec(select(Lab)).all()
    assert [hint["name"] for hint in lab.hints] == ["one"]
    # No command ran twice but those that the coder gave again, as they had been interrupted.
    ran = Counter((killed / "run/labs/lab2/work/turns.txt").read_text().split())
    assert sum(ran.values()) - len(ran) <= len(interrupted)
    assert len(ran) == len(REPLIES) - 1


def live(folder: Path, seconds: float | None = None) -> bool:
    """Live for so long, or to the end; return whether it was killed."""
    folder.mkdir(exist_ok=True)
    folder.chmod(0o755)
    process = subprocess.Popen([sys.executable, "-m", "tests.bot.coder.lab.doomed", str(folder)])
    if seconds is None:
        assert process.wait(120) == 0
        return False
    # Its imports are not what is to be tested.
    deadline = time.monotonic() + 60
    while process.poll() is None and not (folder / "run/state.db").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(seconds)
    killed = process.poll() is None
    process.kill()
    process.wait()
    return killed


def reading(folder: Path) -> Store:
    return Store.open_to_read(folder / "run/state.db", SystemClock())


def nodes(store: Store) -> list[tuple[object, ...]]:
    with store.read() as session:
        rows = session.exec(select(Node).order_by(col(Node.id))).all()
        return [(row.id, row.action, tuple(row.parents), row.status, row.score, row.code_sha) for row in rows]


def answers(store: Store) -> list[tuple[str, str]]:
    with store.read() as session:
        rows = session.exec(select(ModelCall).order_by(col(ModelCall.seq))).all()
        return [(row.step, row.answer_sha) for row in rows]


def seen(store: Store) -> list[str]:
    with store.read() as session:
        rows = session.exec(select(Step).where(Step.name == "lab.turn").order_by(col(Step.attempt))).all()
        return [row.result["text"] for row in rows if row.result]
