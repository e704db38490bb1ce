"""Replays on a cluster: a node dies in mid-script and the engine twice, and nothing is lost or done twice."""

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.execution.folder import run_folders
from tests import needs
from tests.bot.replay.conftest import Bot, bot
from tests.chaos.invariants import Memory, check
from tests.chaos.world import SteadyAnswers, World, wait_until
from tests.sandbox.fleet.nodes import Nodes, small_cluster
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
        options = ("--agent", "aide", "--steps", str(STEPS), "--no-race", *PLACING)
        world = World(tmp_path, endpoint, sandbox="bubblewrap", options=options)
        lived_through(world, cluster)
        check(world, slots=SLOTS)
    with sqlite3.connect(run_folders([world.out])[0].database) as rows:
        nodes = rows.execute("SELECT id FROM node WHERE status IN ('valid', 'buggy') AND action <> 'ensemble'")
        assert len(nodes.fetchall()) == STEPS


def test_a_run_on_real_data_survives_a_node_and_its_engine(bot: Bot, cluster: Nodes, tmp_path: Path):
    """Spooky-author-identification, whose scripts take longer the busier this machine is."""
    spooky = needs.snapshots() / "spooky-author-identification"
    with ScriptedEndpoint(SteadyAnswers()) as endpoint:
        options = ("--model", "builtin", "--time", "20m", "--steps", "12", *PLACING)
        # `bot` has this process, and so the cluster, work in tmp_path itself, where nothing may be left.
        place = tmp_path / "world"
        place.mkdir()
        world = World(place, endpoint, sandbox="bubblewrap", options=options, snapshots=[spooky])
        lived_through(world, cluster)
        check(world, slots=SLOTS)
        assert not endpoint.requests
    [folder] = run_folders([world.out])
    assert bot("audit", folder.path).exit_code == 0


def lived_through(world: World, cluster: Nodes) -> None:
    """Kill a node in mid-script, then the engine twice; then let it come to its end, and see that all was done once.

    It is resumed without `--fleet`: which cluster it began on is recorded.
    """
    with (world.place / "bot.toml").open("a") as file:
        file.write("[fleet]\nfree_gb = 0.1\n")
    engines = [world.start()]
    try:
        kill(world, cluster, engines)
    finally:
        engines[-1].kill()
        engines[-1].wait()


def kill(world: World, cluster: Nodes, engines: "list[subprocess.Popen[bytes]]") -> None:
    memory = Memory()
    assert wait_until(lambda: ": draft" in world.log(), 300), world.log()
    assert wait_until(lambda: bool(busy(cluster)), 300), world.log()
    [lost, *_] = busy(cluster)
    cluster.kill(lost)
    assert wait_until(lambda: "of the fleet was lost" in reasons(world), 120), world.log()

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


def reasons(world: World) -> str:
    """Return what was wrong with executions."""
    found = run_folders([world.out])
    if not found or not found[0].database.is_file():
        return ""
    with sqlite3.connect(found[0].database) as rows:
        details = rows.execute("SELECT data FROM event WHERE type LIKE 'execution%'").fetchall()
    return "\n".join(str(one) for one in details)
