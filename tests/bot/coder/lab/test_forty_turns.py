"""Tests of a lab's life in every back end: all that can go wrong in it, and a bot that is killed at each of its boundaries."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from sandbox.leftovers import find_orphaned_resources
from state.clock import SystemClock
from state.experiments import experiments
from state.labs import labs
from state.store import Store
from state.tables import ModelCall, Node, Step
from tests import needs
from tests.bot.coder.lab.forty import COUNTED, REPLIES, WORK_BYTES, forty_turns
from tests.bot.coder.lab.scripted import turns
from tests.bot.engine.parts import RUN
from tests.bot.replay.scripted_answers import INTERRUPTED

pytestmark = pytest.mark.integration

LOGGED = ("best", "stack", "best-2", "late", "behind")
"""Experiments beside those of a strength each."""
BOUNDARIES = [
    ("before", "lab.opened"),
    ("after", "lab.opened"),
    ("before", "step.ended lab.open"),
    ("after", "step.ended lab.open"),
    ("after", "model.called"),
    ("before", "lab.turn"),
    ("after", "step.ended lab.begun"),
    ("after", "lab.turn"),
    ("before", "experiment.logged"),
    ("after", "experiment.logged"),
    ("before", "step.ended decision"),
    ("after", "step.ended decision"),
    ("before", "experiment.completed"),
    ("after", "experiment.completed"),
    ("before", "lab.note"),
    ("after", "lab.note"),
    ("before", "lab.report"),
    ("after", "lab.report"),
    ("before", "lab.closed"),
    ("after", "lab.closed"),
]
"""Opened, turn begun and kept, experiment numbered, logged and completed, closed; each is come to in the life after the last."""


@pytest.mark.parametrize(
    ("name", "boundaries"),
    [
        ("bubblewrap", BOUNDARIES[2::3]),
        pytest.param("bubblewrap", BOUNDARIES, marks=pytest.mark.trial),
        pytest.param("docker", BOUNDARIES[5::5], marks=pytest.mark.trial),
    ],
)
async def test_forty_turns_meet_all_that_can_go_wrong_and_kills_change_no_reply_and_no_node(
    tmp_path: Path, name: str, boundaries: list[tuple[str, str]]
) -> None:
    (needs.docker if name == "docker" else needs.bubblewrap)()
    tmp_path.chmod(0o755)
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    async with forty_turns(calm, name) as context:
        check_what_was_seen(turns(context))
        check_what_was_kept(context)
    killed.mkdir()
    killed.chmod(0o755)
    live(killed, name, [*(" ".join(doom) for doom in boundaries), "ended"])
    assert find_orphaned_resources(killed) == []
    check_kills(reading(calm), reading(killed))
    # No command ran twice but those that the coder gave again, as they had been interrupted.
    ran = Counter((killed / "run/labs/lab2/work/turns.txt").read_text().split())
    interrupted = [text for text in seen(reading(killed)) if "[interrupted" in text]
    assert sum(ran.values()) - len(ran) <= len(interrupted)
    assert set(ran) == {str(n) for n, reply in enumerate(REPLIES, 1) if n >= COUNTED and "```" in reply}


def check_what_was_seen(seen: list[str]) -> None:
    """Check each observation of the life; the n-th reply's is the n-th."""
    assert len(seen) == len(REPLIES) == 40
    for number, parts in {
        1: (
            "TASK.md",
            "experiments",
            "sample_validation.csv",
            "replies left",
            "baseline (the engine's)",
            "no ideas",
            "row,id,fold",
        ),
        2: ("No command was found",),
        3: ("exit 0", "data"),
        4: ("/lab/work\nid,a,b,c,label",),
        5: ("c0.1: log_loss",),
        9: ("c2.0: log_loss", "paired", "exit 0"),
        10: ("best: log_loss",),
        11: ("best: log_loss",),
        12: ("background processes running",),
        13: ("stack: log_loss", "against c0.5, paired", "leak check on validation rows", "background process"),
        14: ("step 1\nstep 2\nstep 3", "ended", "exit 0"),
        15: ("best-2: log_loss", "log it again with --test", "late: log_loss"),
        16: ("nothing_such", "exit 1"),
        17: ("nowhere.py", "scripts are not scored", "invalid choice", "no experiment named 'nobody'"),
        18: ("exit 5",),
        19: ("unexpected EOF",),
        20: ("stopped at its time limit of 5 s", "characters left out", "/lab/logs/20.txt"),
        21: ("exit 137",),
        22: ("alive",),
        23: (f"more than {WORK_BYTES} bytes of files", "no file can grow beyond"),
        24: ("File size limit exceeded", "exit 0"),
        25: ("room", "exit 0"),
        26: ("sandbox ended", "no exit status"),
        27: ("/lab/work\nkept", "restarted: background jobs"),
        28: ("No command was found",),
        29: ("No command was found",),
        30: ("MemoryError", "exit 1"),
        31: ("exit 1",),
        32: (" [exit",),
        35: ("has the shape (9,)", "/etc/hostname"),
        36: ("noted", "best experiment: ", "replies left"),
        37: ("typed on",),
        38: ("behind: log_loss",),
        39: ("c0.1: log_loss", "exit 0"),
        40: ("ends after this command",),
    }.items():
        for part in parts:
            assert part in seen[number - 1], (number, part, seen[number - 1][-1000:])
    assert "x\n" not in seen[2]
    assert "background" not in seen[13]
    assert "root:x" not in seen[31] and seen[31].splitlines()[-3] == "0"
    assert max(map(len, seen)) < 18_000
    assert not [text for text in seen if "\0" in text or "\033" in text]


def check_what_was_kept(context: RunContext) -> None:
    """Check the rows of the life."""
    (row,) = labs(context.store, RUN)
    assert (row.turns, row.reason) == (40, "its coder finished")
    assert row.report == {"method": "linear", "components": "it works", "limitations": "made so"}
    assert context.experiments is not None
    kept, tree = context.experiments.all(), load_tree(context)
    assert [one.name for one in kept] == [*(f"c{n / 10}" for n in range(1, 21)), *LOGGED]
    assert [(node.id, node.state, node.score) for node in tree.nodes[1:]] == [
        (number, "valid", one.result.score) for number, one in enumerate(kept, 2)
    ]
    folders = {path.name for path in context.experiments.folder.iterdir()}
    assert folders == {one.name for one in kept} | {"index.csv"}
    left = {path.name for path in (context.executor.folder.labs / "lab2/work").iterdir()}
    assert {"predict.py", "best.py", "turns.txt"} <= left


def check_kills(undisturbed: Store, disturbed: Store) -> None:
    """Check that the same came of a life that was killed, and that nothing was paid or counted twice."""
    assert nodes(disturbed) == nodes(undisturbed)
    replies, steps = answers(disturbed), Counter(step for step, _ in answers(disturbed))
    assert max(steps.values()) == 1
    # A reply whose command was interrupted is given again; without those, they are the same.
    lasting = [sha for (_, sha), text in zip(replies, seen(disturbed), strict=True) if not INTERRUPTED.search(text)]
    assert lasting == [sha for _, sha in answers(undisturbed)]
    kept = [labs(store, RUN)[0] for store in (disturbed, undisturbed)]
    assert kept[0].notes == kept[1].notes
    assert logged(disturbed) == logged(undisturbed)
    assert (kept[0].report, kept[0].reason) == (kept[1].report, kept[1].reason)


def live(folder: Path, name: str, lives: Sequence[str]) -> None:
    """Live to where the bot kills itself, again and again, and at last to the end."""
    command = [sys.executable, "-m", "tests.bot.coder.lab.doomed", str(folder), name, *lives]
    ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]


def reading(folder: Path) -> Store:
    return Store.open_to_read(folder / "run/state.db", SystemClock())


def nodes(store: Store) -> list[tuple[object, ...]]:
    with store.read() as session:
        rows = session.exec(select(Node).order_by(col(Node.id))).all()
        return [(row.id, row.action, tuple(row.parents), row.status, row.score, row.code_sha) for row in rows]


def logged(store: Store) -> list[tuple[object, ...]]:
    with store.read() as session:
        rows = [row for row, _ in experiments(session, RUN)]
        return [(one.node, one.name, one.kind, one.uses, one.sources, one.result, one.seconds) for one in rows]


def answers(store: Store) -> list[tuple[str, str]]:
    with store.read() as session:
        rows = session.exec(select(ModelCall).order_by(col(ModelCall.seq))).all()
        return [(row.step, row.answer_sha) for row in rows]


def seen(store: Store) -> list[str]:
    with store.read() as session:
        rows = session.exec(select(Step).where(Step.name == "lab.turn").order_by(col(Step.attempt))).all()
        return [row.result["text"] for row in rows if row.result]
