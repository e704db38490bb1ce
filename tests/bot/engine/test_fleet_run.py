"""Replays on a cluster: a node dies in mid-script and the engine twice, and nothing is lost or done twice."""

import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.execution.folder import run_folders
from tests import needs
from tests.bot.fleet.nodes import Nodes, small_cluster
from tests.bot.replay.conftest import Bot, bot
from tests.bot.replay.scripted_answers import typed
from tests.chaos.invariants import Memory, check
from tests.chaos.world import SteadyAnswers, World, wait_until
from tests.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.integration
__all__ = ["bot"]

SLOTS = 4
STEPS = 7
PLACING = ("--parallel", str(SLOTS), "--cpus", "1", "--gpus", "0", "--fleet", "auto")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Nodes]:
    """Three nodes of two cores, of which one has a stand-in for a GPU; with one dead there are four slots."""
    needs.bubblewrap()
    with small_cluster(0, 0, 1) as cluster:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        yield cluster


def test_a_run_on_a_fleet_survives_a_node_and_its_engine(cluster: Nodes, tmp_path: Path):
    with ScriptedEndpoint(SteadyAnswers(seconds=12)) as endpoint:
        options = ("--agent", "aide", "--steps", str(STEPS), *PLACING)
        world = World(tmp_path, endpoint, sandbox="bubblewrap", options=options)
        lived_through(world, cluster)
        check(world, slots=SLOTS)
    with sqlite3.connect(run_folders([world.out])[0].database) as rows:
        nodes = rows.execute("SELECT id FROM node WHERE status IN ('valid', 'buggy') AND action <> 'ensemble'")
        assert len(nodes.fetchall()) == STEPS


LETTERS = """
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

train = pd.read_csv("data/train.csv")
model = make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=(1, 3)), LogisticRegression(C={c}, max_iter=300))
model.fit(train["text"], train["author"])
for name, out in (("test", "submission.csv"), ("validation", "validation_predictions.csv")):
    rows = pd.read_csv(f"data/{{name}}.csv")
    table = pd.DataFrame(model.predict_proba(rows["text"]), columns=model.classes_)
    table.insert(0, "id", rows["id"])
    table.to_csv(out, index=False)
"""


class SpookyCoder(SteadyAnswers):
    """Scores a script, works for a while without scoring anything, and scores a better one."""

    COMMANDS = (
        typed("solution.py", LETTERS.format(c=1), "lab score solution.py --note weak"),
        "touch second; sleep 30",
        typed("solution.py", LETTERS.format(c=10), "lab score solution.py --note strong"),
        "printf 'believed: letters\\nseen: letters\\n' | lab done",
    )


def test_labs_on_real_data_survive_two_nodes_and_their_engine(bot: Bot, cluster: Nodes, tmp_path: Path):
    """Spooky-author-identification with four slots, of labs: a node dies in mid-script, another in mid-lab."""
    spooky = needs.snapshots() / "spooky-author-identification"
    cluster.add("n4")
    with ScriptedEndpoint(SpookyCoder()) as endpoint:
        options = ("--coder", "lab", "--time", "20m", "--steps", "12", *PLACING)
        # `bot` has this process, and so the cluster, work in tmp_path itself, where nothing may be left.
        world = World(tmp_path / "world", endpoint, sandbox="bubblewrap", options=options, snapshots=[spooky])
        lived_through(world, cluster, in_lab=True)
        check(world, slots=SLOTS)
    [folder] = run_folders([world.out])
    with sqlite3.connect(folder.database) as rows:
        turns = rows.execute("SELECT node, attempt FROM step WHERE name = 'lab.turn'").fetchall()
        closed = {reason for (reason,) in rows.execute("SELECT reason FROM lab")}
        scores = [score for (score,) in rows.execute("SELECT score FROM node WHERE status = 'valid'")]
    assert all((lab, turn + 1) in turns for lab, turn in lost_in_lab(world)), "a lab did not go on elsewhere"
    assert closed == {"its coder finished"}
    assert min(scores) < 0.55 < 0.6 < max(scores), "no lab was better than the baseline"
    assert bot("audit", folder.path).exit_code == 0


def lived_through(world: World, cluster: Nodes, *, in_lab: bool = False) -> None:
    """Kill a node in mid-script, then the engine twice; then let it come to its end, and see that all was done once.

    With `in_lab` another node is killed before the engine, while a lab's coder works there and no script is scored.

    It is resumed without `--fleet`: which cluster it began on is recorded.
    """
    with (world.place / "bot.toml").open("a") as file:
        file.write("[fleet]\nfree_gb = 0.1\n")
    engines = [world.start()]
    try:
        kill(world, cluster, engines, in_lab=in_lab)
    finally:
        engines[-1].kill()
        engines[-1].wait()


_LOST = re.compile(r"[Ff]leet node \S+ was lost")


def kill(world: World, cluster: Nodes, engines: "list[subprocess.Popen[bytes]]", *, in_lab: bool) -> None:
    memory = Memory()
    assert wait_until(lambda: bool(re.search(r": (draft|lab \d)", world.log())), 300), world.log()
    assert wait_until(lambda: bool(busy(cluster)), 300), world.log()
    [lost, *_] = busy(cluster)
    cluster.kill(lost)
    assert wait_until(lambda: bool(_LOST.search(reasons(world))), 120), world.log()
    if in_lab:
        at_work: list[str] = []

        def are_thinking() -> bool:
            at_work[:] = thinking(cluster)
            return bool(at_work)

        assert wait_until(are_thinking, 300), world.log()
        before = lost_in_lab(world)
        cluster.kill(at_work[0])
        assert wait_until(lambda: lost_in_lab(world) > before, 120), world.log()

    for _ in range(2):
        assert wait_until(lambda: bool(busy(cluster)), 300), world.log()
        engines[-1].kill()
        engines[-1].wait()
        world.kills += 1
        memory.look(world.out)
        assert wait_until(lambda: not busy(cluster), 60), "scripts outlived their engine"
        engines.append(world.start())
    assert engines[-1].wait(600) == 0, world.log()
    memory.look(world.out)

    result = json.loads((world.place / "results").read_text())
    assert result["status"] == "finished" and result["valid_submission"]
    with sqlite3.connect(run_folders([world.out])[0].database) as rows:
        ended = rows.execute("SELECT node, view, attempt, reason FROM execution WHERE reason IS NOT NULL").fetchall()
    whole = [tuple(one) for *one, reason in ended if reason != "infrastructure"]
    assert len(whole) == len(set(whole)) > SLOTS
    lost_ones = {tuple(one) for *one, reason in ended if reason == "infrastructure"}
    assert lost_ones <= set(whole), "what ran on the lost node was run again"


def busy(cluster: Nodes) -> list[str]:
    """Return the nodes on which a script of the search runs."""
    return [name for name in cluster.nodes if cluster.running(name)]


def thinking(cluster: Nodes) -> list[str]:
    """Return the nodes on which a lab is at its second command, and nothing is scored."""
    labs = {name for name in cluster.nodes if list((cluster.folder / name).glob("fleet/slots/*/labs/lab/work/second"))}
    return sorted(labs - set(busy(cluster)))


def lost_in_lab(world: World) -> set[tuple[int, int]]:
    """Return the turns (lab, number) whose coder worked without scoring anything when its node was lost."""
    with sqlite3.connect(run_folders([world.out])[0].database) as rows:
        told = rows.execute("SELECT data FROM event WHERE type = 'lab.turn'").fetchall()
        seen = rows.execute("SELECT node, attempt, result FROM step WHERE name = 'lab.turn'").fetchall()
    working = {
        (one["lab"], one["turn"]) for one in (json.loads(data) for (data,) in told) if "touch second" in one["command"]
    }
    return working & {(lab, turn) for lab, turn, text in seen if text is not None and _LOST.search(text)}


def reasons(world: World) -> str:
    """Return what was wrong with executions."""
    found = run_folders([world.out])
    if not found or not found[0].database.is_file():
        return ""
    with sqlite3.connect(found[0].database) as rows:
        details = rows.execute("SELECT data FROM event WHERE type LIKE 'execution%'").fetchall()
    return "\n".join(str(one) for one in details)
