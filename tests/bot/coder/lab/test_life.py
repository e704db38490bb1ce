"""Tests of a lab's life with a coder that follows a script, under bubblewrap."""

import asyncio
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bot.agents.solo import solo
from bot.coder.lab.playbook import LabPlaybook
from bot.coder.lab.settings import LabSettings
from bot.engine.attempts import load_tree
from bot.engine.budget import RunBudget
from bot.engine.context import RunContext
from bot.engine.strategy import Strategy
from bot.engine.tree import Tree
from bot.models import CallLimits, Completion, Prompt
from state.errors import BudgetExceeded, EmptyAnswer
from state.labs import labs
from tests import needs
from tests.bot.coder.lab.scripted import AnswerT, FewLabs, Scripted, lived, logged, only_story, sh, turns
from tests.bot.engine.parts import RUN
from tests.bot.replay.scripted_answers import FILES

pytestmark = pytest.mark.integration


@pytest.fixture(autouse=True)
def walls() -> None:
    """These labs need bubblewrap."""
    needs.bubblewrap()


async def test_a_coder_looks_around_experiments_and_reports(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    in_python = (
        "import numpy as np; from lab import log, board; "
        "arrays = {role: np.load(role + '.npy') for role in ('oof', 'validation', 'test')}; "
        "score = log('stack', **arrays, uses=['ridge-weak'], note='as they are'); print('gain is', score.gain > 0.01)"
    )
    replies = [
        sh(
            "ls /lab /lab/data data; lab status; lab board; lab ideas; head -2 /lab/folds.csv; cat /lab/community/index.md"
        ),
        "First I think for a while.",
        sh(logged("'ridge, weak'", 0.01, "--note first --files predict.py; lab board; ls /lab/experiments/*")),
        sh(f"python predict.py 1 && python -c {shlex.quote(in_python)}; lab board"),
        sh(
            "python -c \"import numpy as np; np.save('oof', np.load('oof.npy')[:9])\"; "
            f"lab log part {FILES}; lab score predict.py; lab fit; lab wait none; lab note 'b helps'"
        ),
        sh("echo broken > /lab/experiments/index.csv; rm -rf /lab/experiments/stack; ls /lab/experiments"),
        sh("printf 'method: ridge\\ncomponents: it works\\nnext: trees\\n' | lab done"),
    ]
    model = Scripted(replies)
    async with lived(tmp_path / "run", model) as context:
        seen = turns(context)
        tree = load_tree(context)
        (row,) = labs(context.store, RUN)
        assert context.experiments is not None
        weak, strong = context.experiments.all()
        with context.store.read() as session:
            story = only_story(session)
    # What the report and `bot logs --lab` show.
    assert [(turn.reply, turn.observation) for turn in story.turns] == list(zip(replies, seen, strict=True))
    assert dict(story.row.report)["method"] == "ridge"
    for part in (
        "TASK.md",
        "experiments",
        "sample_validation.csv",
        "replies left",
        "no ideas",
        "fold",
        "Public scripts",
    ):
        assert part in seen[0], part
    assert "No command was found" in seen[1]
    assert f"ridge-weak · {weak.result.score:.6g}" in seen[2]
    assert "predict.py" in seen[2].rpartition("ridge-weak")[2]
    assert "gain is True" in seen[3]
    assert seen[3].index("stack · ") < seen[3].index("ridge-weak · "), "the best stands first"
    assert (strong.kind, strong.uses, strong.note) == ("stack", ("ridge-weak",), "as they are")
    assert strong.result.score < weak.result.score
    assert "has the shape (9,)" in seen[4]
    assert "scripts are not scored in this run" in seen[4]
    assert "no fit has this name" in seen[4]
    assert "Read-only file system" in seen[5] and "stack" in seen[5].splitlines()
    assert row.report == {"method": "ridge", "components": "it works", "next": "trees"}
    assert row.notes == ["b helps"]
    assert row.reason == "its coder finished"
    assert [(node.id, node.state, node.parents, node.score) for node in tree.nodes[1:]] == [
        (2, "valid", (), weak.result.score),
        (3, "valid", (), strong.result.score),
    ]
    # Each conversation begins as the one before: endpoints keep such a beginning.
    for before, after in zip(model.sent, model.sent[1:], strict=False):
        assert list(after[: len(before)]) == list(before)


async def test_a_lab_without_an_experiment_whose_work_is_taken_away_leaves_a_failed_node_and_a_reason(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o755)

    class Careless(Scripted):
        """Has all that the lab has made removed from outside, again and again."""

        async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
            shutil.rmtree(tmp_path / "run/run/labs/lab2/work", ignore_errors=True)
            return await super().complete(prompt, role=role, limits=limits)

    replies = [sh("touch x"), sh("touch y"), *(["I do not know what to do."] * 20)]
    async with lived(tmp_path / "run", Careless(replies)) as context:
        (row,) = labs(context.store, RUN)
        assert "exit 1" in turns(context)[1]
        assert row.reason == "10 consecutive replies had no command"
        node = load_tree(context)[2]
        assert node.buggy
        assert "logged nothing" in str(context.results[-1].error)


@dataclass
class Away:
    """A run's time, in which a bot may be away."""

    seconds: float = 0.0

    def wall(self) -> float:
        return self.seconds


class Interrupted(Scripted):
    """A model at which something happens before its second reply."""

    def __init__(self, replies: Sequence[str], happens: Callable[[], None]) -> None:
        super().__init__(replies)
        self.happens = happens

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Let it happen, then reply."""
        if len(self.sent) == 1:
            self.happens()
        return await super().complete(prompt, role=role, limits=limits)


def timed(time: "Away") -> Callable[[RunContext], Strategy]:
    """Return an agent of one lab in a run of 30 days by that time."""
    one = FewLabs()

    def agent(context: RunContext) -> Strategy:
        live = replace(context, budget=RunBudget(time, 30 * 86_400.0, None))

        async def finish(tree: Tree) -> None:
            """Do nothing."""

        return Strategy("test", one, {"lab": LabPlaybook(live, one, LabSettings())}, finish)

    return agent


async def test_a_lab_ends_with_what_it_logged_though_the_bot_was_away_when_its_time_ended(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    time = Away()

    def a_night() -> None:
        time.seconds += 8 * 3600.0

    replies = [sh(logged("one", 1.0, "; lab status")), sh("echo typed on")]
    async with lived(tmp_path / "run", Interrupted(replies, a_night), agent=timed(time)) as context:
        (row,) = labs(context.store, RUN)
        assert "10368 s left" in turns(context)[0]
        assert row.reason == "it ran out of time"
        assert load_tree(context)[2].valid


async def test_a_command_is_ended_when_the_labs_time_is_over(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    mark = tmp_path / "run/run/labs/lab2/work/mark"

    class Shrinking(Away):
        """Has none left once the command has begun."""

        def wall(self) -> float:
            return 8 * 3600.0 if mark.exists() else 0.0

    replies = [sh(logged("one", 1.0, "; touch mark; sleep 200; echo typed on"))]
    async with lived(tmp_path / "run", Scripted(replies), agent=timed(Shrinking())) as context:
        (row,) = labs(context.store, RUN)
        (seen,) = turns(context)
        assert "the lab's time is up" in seen and "typed on" not in seen
        assert row.reason == "it ran out of time"
        assert load_tree(context)[2].valid


async def test_a_cap_closes_a_lab_whose_experiments_and_work_stay(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    def no_money() -> None:
        raise BudgetExceeded("the day's cap on money has been reached")

    wasted = "; seq 1 300000; head -c 5000000 /dev/urandom > model.bin; ls /lab/community"
    async with lived(tmp_path / "run", Interrupted([sh(logged("one", 1.0, wasted))], no_money)) as context:
        (row,) = labs(context.store, RUN)
        assert row.reason == "the day's cap on money has been reached"
        assert load_tree(context)[2].valid
        assert "index.md" in turns(context)[0]
        left = {path.name for path in (tmp_path / "run/run/labs/lab2").rglob("*") if path.is_file()}
        assert {"predict.py", "oof.npy", "model.bin"} <= left, "the newest labs keep theirs whole, for their children"
        assert not {"index.md", "folds.csv", "1.txt"} & left


async def test_only_the_two_newest_labs_keep_what_can_be_made_again(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    async with lived(tmp_path / "run", Scripted([sh(logged("one", 1.0))]), labs=3) as context:
        closed = [row.id for row in sorted(labs(context.store, RUN), key=lambda row: row.ended_at or row.started_at)]
        whole = {path.parts[-3] for path in (tmp_path / "run/run/labs").glob("lab*/work/oof.npy")}
        scripts = {path.parts[-3] for path in (tmp_path / "run/run/labs").glob("lab*/work/predict.py")}
    assert len(closed) == 3
    assert scripts == {f"lab{number}" for number in closed}
    assert len(whole) == 2


@pytest.mark.parametrize(
    ("seconds", "reason"), [(0.0, "its last 12 experiments gained nothing"), (1800.0, "its coder finished")]
)
async def test_a_lab_of_a_longer_run_is_closed_when_experiments_have_gained_nothing_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float, reason: str
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr("bot.coder.lab.work._STALE_SECONDS", seconds)
    refused_commands = (
        "import numpy as np; from lab import log; "
        "[log(f'c{n}', *(np.load(r + '.npy') * 0.01 * n for r in ('oof', 'validation', 'test'))) for n in range(12)]"
    )
    replies = [sh(logged("good", 1.0, f"; python -c {shlex.quote(refused_commands)}"))]
    async with lived(tmp_path / "run", Scripted(replies), agent=timed(Away())) as context:
        (row,) = labs(context.store, RUN)
        assert context.experiments is not None
        assert len(context.experiments.all()) == 13
    assert row.reason == reason


async def test_solo_has_the_competitions_own_files_and_hands_in_what_it_left(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    copy = "cp data/sample_submission.csv submission.csv; wc -l < data/train.csv; ls /lab /lab/data data; lab status"
    model = Scripted([sh(copy), "I am done.", "I am done.", "I am done."])
    async with lived(tmp_path / "run", model, agent=solo) as context:
        seen, tree = turns(context), load_tree(context)
        (row,) = labs(context.store, RUN)
        left = context.executor.submission_of(2, "holdout")
        sample = (context.executor.settings.data / "sample_submission.csv").read_text()
        assert left.read_text() == sample
    assert "241" in seen[0], "all labelled rows"
    assert "validation" not in seen[0]
    assert "folds.csv" not in seen[0]
    assert "exit 0" not in seen[0], "no command `lab`"
    assert row.reason == "3 consecutive replies had no command"
    assert (tree[2].state, tree[2].score) == ("valid", None)
    told = "".join(message.content for message in model.sent[0])
    assert "lab log" not in told and "lab score" not in told
    assert "submission.csv" in told


class Silent(Scripted):
    """A model that gives no second reply."""

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Reply once."""
        if self.sent:
            await asyncio.Event().wait()
        return await super().complete(prompt, role=role, limits=limits)


async def test_solo_hands_in_what_it_left_though_its_model_is_silent_when_the_time_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o755)
    monkeypatch.setattr("bot.engine.budget.SHORTEST_EXECUTION", 0.5)
    model = Silent([sh("cp data/sample_submission.csv submission.csv")])
    async with lived(tmp_path / "run", model, agent=solo, seconds=14.0) as context:
        (row,) = labs(context.store, RUN)
        assert context.executor.submission_of(2, "holdout").is_file()
        assert load_tree(context)[2].state == "valid"
    assert row.reason == "it ran out of time"


class Hesitant(Scripted):
    """A scripted model that gives no answer the first few times."""

    def __init__(self, replies: Sequence[str], times: int) -> None:
        super().__init__(replies)
        self.times = times

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        if self.times:
            self.times -= 1
            raise EmptyAnswer("its answer was empty")
        return await super().complete(prompt, role=role, limits=limits)


@pytest.mark.parametrize(("times", "turns_taken"), [(2, 2), (3, 0)])
async def test_a_turn_without_an_answer_is_asked_for_again_before_the_lab_is_closed(
    tmp_path: Path, times: int, turns_taken: int
) -> None:
    tmp_path.chmod(0o755)
    async with lived(tmp_path / "run", Hesitant([sh("ls")], times)) as context:
        (row,) = labs(context.store, RUN)
        with context.store.read() as session:
            story = only_story(session)
    assert row.ended_at is not None
    assert [turn.reply for turn in story.turns[:1]] == ([sh("ls")] if turns_taken else [])
