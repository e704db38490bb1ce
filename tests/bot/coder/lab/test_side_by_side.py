"""Tests of labs side by side on two cores: nobody waits for ever, and each has cores of its own."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from bot.engine.attempts import load_tree
from bot.models import CallLimits, Completion, Prompt
from sandbox.locks import is_held
from state.labs import labs
from tests import needs
from tests.bot.coder.lab.scripted import Scripted, lived, logged, sh, turns
from tests.bot.engine.parts import RUN
from tests.bot.replay.scripted_answers import FILES

pytestmark = pytest.mark.integration
AnswerT = TypeVar("AnswerT")


@pytest.fixture(autouse=True)
def walls() -> None:
    """These labs need bubblewrap."""
    needs.bubblewrap()


@pytest.mark.parametrize("cpus", [1, 2])
async def test_two_labs_end_on_two_cores_and_share_what_they_log(tmp_path: Path, cpus: int) -> None:
    """With one core each, as `--parallel 2` has it, and where each wants both."""
    tmp_path.chmod(0o755)
    replies = [
        sh("(sleep 4; echo late) > job.log 2>&1 & ls data"),
        sh(logged("weak", 0.1, "--note foreground")),
        sh(f"python predict.py 0.2; lab log behind {FILES} & (sleep 2; echo) & wait %1"),
        sh(f"python predict.py 0.$RANDOM && lab log any {FILES}; lab board --all"),
        sh(f"cd /lab/experiments/weak && lab log again --uses weak {FILES}"),
        sh("sleep 3; cat job.log; lab status; cat /lab/experiments/index.csv"),
    ]
    async with asyncio.timeout(240), lived(tmp_path / "run", Scripted(replies), labs=2, cpus=cpus) as context:
        tree, rows = load_tree(context), labs(context.store, RUN)
        assert context.experiments is not None
        kept, folder = context.experiments.all(), context.experiments.folder
        assert [row.reason for row in rows] == ["its coder finished"] * 2
        # What both logged alike is there once, and belongs to whoever was first.
        assert sorted(one.name for one in kept) == ["again", "any", "any-2", "behind", "weak"]
        assert {one.lab for one in kept if one.name.startswith("any")} == {row.id for row in rows}
        scored = {node.id: node.score for node in tree.nodes if node.valid}
        assert {one.node: one.result.score for one in kept}.items() <= scored.items()
        assert {path.name for path in folder.iterdir()} == {one.name for one in kept} | {"index.csv"}
        seen = turns(context)
        assert len(seen) == 2 * (len(replies) + 1)
        assert sum("any-2" in text for text in seen) >= 2, "each sees what the other one logged"


class Looking(Scripted):
    """Keeps, for each reply that it is asked for, whether a core is held meanwhile."""

    def __init__(self, replies: Sequence[str], locks: Path) -> None:
        super().__init__(replies)
        self.locks = locks
        self.held: list[bool] = []

    def look(self) -> bool:
        """Return whether a core is held."""
        return any(map(is_held, self.locks.glob("cpu-*")))

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Look, then reply."""
        self.held.append(self.look())
        return await super().complete(prompt, role=role, limits=limits)


async def test_a_lab_holds_its_cores_from_its_opening_to_its_close(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    model = Looking([sh("ls"), sh("sleep 3 & true"), sh(logged("one", 1.0))], tmp_path / "run" / "locks")
    async with lived(tmp_path / "run", model, cpus=2):
        assert not model.look()
    assert model.held == [True] * 4
