"""Tests of a lab's life with a coder that follows a script, under bubblewrap."""

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
from bot.report.labs import lab_stories
from state.errors import BudgetExceeded
from state.labs import labs
from tests import needs
from tests.bot.coder.lab.scripted import OUT_OF_FOLD, SOLUTION, AnswerT, FewLabs, Scripted, lived, sh, turns, written
from tests.bot.engine.parts import RUN

pytestmark = pytest.mark.integration


AS_ARRAY = (
    "import numpy as np; a = np.genfromtxt('oof.csv', delimiter=',', skip_header=1)[:, 1]; "
    "np.save('oof', a); np.save('part', a[:9])"
)


@pytest.fixture(autouse=True)
def walls() -> None:
    """These labs need bubblewrap."""
    needs.bubblewrap()


async def test_a_coder_looks_around_experiments_scores_and_reports(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    replies = [
        sh(
            "ls /lab /lab/data data; lab status; lab board; lab ideas; head -2 /lab/folds.csv; cat /lab/community/index.md"
        ),
        "First I think for a while.",
        written(
            "oof.py", OUT_OF_FOLD, "python oof.py 0.01 && lab log 'ridge, weak' --oof oof.csv --note first; lab board"
        ),
        sh(
            f"python oof.py 1 && python -c {AS_ARRAY!r}; lab log no --oof part.npy; "
            "lab log 'ridge, strong' --oof oof.npy; lab board"
        ),
        written("solution.py", SOLUTION, "lab score solution.py --note 'strong ridge'", 1.0),
        sh("lab score solution.py; lab score nowhere.py; echo 'def (' > bad.py; lab score bad.py; lab note 'b helps'"),
        written("broken.py", "import nothing_such", "lab score broken.py"),
        written("solution.py", SOLUTION, "printf 'believed: ridge\\nseen: it works\\nwhy: linear\\n' | lab done", 2.0),
    ]
    model = Scripted(replies)
    async with lived(tmp_path / "run", model) as context:
        seen = turns(context)
        tree = load_tree(context)
        (row,) = labs(context.store, RUN)
        with context.store.read() as session:
            (story,) = lab_stories(session, RUN)
    # What the report and `bot logs --lab` show.
    assert [(turn.reply, turn.seen) for turn in story.turns] == list(zip(replies, seen, strict=True))
    assert dict(story.report)["believed"] == "ridge"
    assert "solution.py" not in seen[0]
    for part in (
        "TASK.md",
        "sample_validation.csv",
        "looks left",
        "node 1 ·",
        "there are no ideas",
        "id,fold",
        "Public scripts",
    ):
        assert part in seen[0], part
    assert "No command was found" in seen[1]
    assert "folds · ridge, weak" in seen[2]
    assert [hint["name"] for hint in row.hints] == ["ridge, weak", "ridge, strong"]
    assert seen[3].count("over 'ridge, weak' of lab 2, paired") == 2, "in the answer and on the board"
    assert (
        "its shape is (9, 1), and must be (" in seen[3]
        and "a row for each of folds.csv, in its order, and label" in seen[3]
    )
    weak, strong = (hint["score"] for hint in row.hints)
    assert strong < weak
    assert "node 2: log_loss" in seen[4]
    assert "4 looks" in seen[4]
    assert "scored before" in seen[5]
    assert "nowhere.py" in seen[5]
    assert "does not compile" in seen[5]
    assert "4 looks" in seen[5]
    assert "node 3 has no score" in seen[6]
    assert "nothing_such" in seen[6]
    assert row.report == {"believed": "ridge", "seen": "it works", "why": "linear"}
    assert row.notes == ["b helps"]
    assert row.reason == "its coder was done"
    # The last look went to what lay in work/solution.py at the end.
    assert [(node.id, node.state, node.parents) for node in tree.nodes[1:]] == [
        (2, "valid", ()),
        (3, "buggy", (2,)),
        (4, "valid", (2,)),
    ]
    assert tree[2].score is not None
    assert tree[2].score < 0.6
    # Each conversation begins as the one before: endpoints keep such a beginning.
    for before, after in zip(model.sent, model.sent[1:], strict=False):
        assert list(after[: len(before)]) == list(before)


async def test_a_lab_without_a_script_whose_work_is_taken_away_leaves_a_failed_node_and_a_reason(
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
        assert row.reason == "10 replies in a row held no command"
        node = load_tree(context)[2]
        assert node.buggy
        assert "no script that was scored" in str(context.results[-1].error)


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


async def test_the_last_look_is_made_though_the_bot_was_away_when_the_labs_time_ended(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    time = Away()

    def a_night() -> None:
        time.seconds += 8 * 3600.0

    replies = [written("solution.py", SOLUTION, "lab status", 1.0), sh("echo typed on")]
    async with lived(tmp_path / "run", Interrupted(replies, a_night), agent=timed(time)) as context:
        (row,) = labs(context.store, RUN)
        assert "10358 s of this lab left" in turns(context)[0]
        assert row.reason == "its time was used up"
        assert load_tree(context)[2].valid


async def test_a_command_is_ended_when_the_time_that_was_left_for_it_is_needed_at_the_end(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    mark = tmp_path / "run/run/labs/lab2/work/mark"

    class Shrinking(Away):
        """Has none left once the command has begun, as when a slow script becomes the best one meanwhile."""

        def wall(self) -> float:
            return 8 * 3600.0 if mark.exists() else 0.0

    replies = [written("solution.py", SOLUTION, "touch mark; sleep 200; echo typed on", 1.0)]
    async with lived(tmp_path / "run", Scripted(replies), agent=timed(Shrinking())) as context:
        (row,) = labs(context.store, RUN)
        (seen,) = turns(context)
        assert "more time is kept for running that script again" in seen
        assert row.reason == "its time was used up"
        assert load_tree(context)[2].valid


async def test_the_last_look_costs_no_money_and_a_closed_lab_keeps_scripts_and_tables(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    def no_money() -> None:
        raise BudgetExceeded("the day's cap on money is reached")

    wasted = "seq 1 300000; head -c 5000000 /dev/urandom > model.bin; ls /lab/community /lab/bank"
    async with lived(tmp_path / "run", Interrupted([written("solution.py", SOLUTION, wasted)], no_money)) as context:
        (row,) = labs(context.store, RUN)
        assert row.reason == "the day's cap on money is reached"
        assert load_tree(context)[2].valid
        assert "index.md" in turns(context)[0]
        left = sorted(path.name for path in (tmp_path / "run/run/labs/lab2").rglob("*") if path.is_file())
        assert "solution.py" in left
        assert not {"model.bin", "index.md", "folds.csv", "1.txt"} & set(left)


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
    assert "exit 0" not in seen[0], "there is no command `lab`"
    assert row.reason == "3 replies in a row held no command"
    assert (tree[2].state, tree[2].score) == ("valid", None)
    told = "".join(message.content for message in model.sent[0])
    assert "lab score" not in told
    assert "submission.csv" in told
