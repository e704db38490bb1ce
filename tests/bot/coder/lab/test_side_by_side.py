"""Tests of labs side by side on two cores: nobody waits for ever, and a lab whose model thinks holds nothing."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from bot.engine.attempts import load_tree
from bot.models import CallLimits, Completion, Prompt
from sandbox.locks import is_held
from state.labs import labs
from tests import needs
from tests.bot.coder.lab.scripted import OUT_OF_FOLD, SOLUTION, Scripted, lived, sh, turns, written
from tests.bot.engine.parts import RUN

pytestmark = pytest.mark.integration
AnswerT = TypeVar("AnswerT")


@pytest.fixture(autouse=True)
def walls() -> None:
    """These labs need bubblewrap."""
    needs.bubblewrap()


@pytest.mark.parametrize("cpus", [1, 2])
async def test_two_labs_and_their_scores_end_on_two_cores(tmp_path: Path, cpus: int) -> None:
    """With one core each, as `--parallel 2` has it, and where each wants both."""
    tmp_path.chmod(0o755)
    slow = SOLUTION + "\nimport time; time.sleep(1)\n"
    replies = [
        sh("(sleep 4; echo late) > job.log 2>&1 & ls data"),
        written("solution.py", slow, "lab score solution.py --note foreground", 0.1),
        written("solution.py", slow, "lab score --background solution.py --note background; (sleep 2; echo) &", 0.2),
        written("oof.py", OUT_OF_FOLD, "python oof.py 0.1 && lab log folds --oof oof.csv"),
        written("solution.py", slow, "lab score solution.py --note 'behind the other'", 0.3),
        written("solution.py", slow, "setsid sleep 2 & lab score --background solution.py; lab board", 0.4),
        sh("sleep 3; cat job.log; lab status"),
    ]
    async with asyncio.timeout(240), lived(tmp_path / "run", Scripted(replies), labs=2, cpus=cpus) as context:
        tree, rows = load_tree(context), labs(context.store, RUN)
        assert [row.reason for row in rows] == ["its coder was done"] * 2
        for row in rows:
            scored = [tree[node].state for node in context.decisions.of_lab(row.id)]
            assert scored == ["valid"] * 4, row.id
            assert [hint["name"] for hint in row.hints] == ["folds"]
        assert len(turns(context)) == 2 * (len(replies) + 1)


class Looking(Scripted):
    """Keeps, for each reply that it is asked for, whether a core is held meanwhile."""

    def __init__(self, replies: Sequence[str], locks: Path) -> None:
        super().__init__(replies)
        self.locks = locks
        self.held: list[bool] = []

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Look for a second, as the last process of a lab may just have ended, then reply."""
        deadline = time.monotonic() + 1
        while (held := any(map(is_held, self.locks.glob("cpu-*")))) and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        self.held.append(held)
        return await super().complete(prompt, role=role, limits=limits)


async def test_a_lab_holds_cores_while_something_runs_and_none_while_its_model_thinks(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    replies = [
        sh("ls"),
        sh("sleep 3 & true"),
        sh("sleep 3"),
        written("solution.py", SOLUTION, "lab score solution.py"),
    ]
    model = Looking(replies, tmp_path / "run" / "locks")
    async with lived(tmp_path / "run", model, cpus=2):
        pass
    assert model.held == [False, False, True, False, False]
