"""A replay on a cluster: a node dies in mid-script and the engine twice, and nothing is lost or counted twice."""

import json
import sqlite3
from pathlib import Path

import pytest

from bot.execution.folder import run_folders
from tests import needs
from tests.chaos.world import SteadyAnswers, World, wait_until
from tests.sandbox.fleet.nodes import Nodes, small_cluster
from tests.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.integration
STEPS = 7
OPTIONS = (
    "--agent",
    "aide",
    "--parallel",
    "4",
    "--cpus",
    "1",
    "--steps",
    str(STEPS),
    "--no-race",
    "--gpus",
    "0",
    "--fleet",
    "auto",
)


def busy(cluster: Nodes, *, besides: str = "") -> list[str]:
    """Return the nodes on which a script of the search runs."""
    return [name for name in cluster.nodes if name != besides and cluster.running(name)]


def test_a_run_on_a_fleet_survives_a_node_and_its_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    needs.bubblewrap()
    with small_cluster(0, 0, 1) as cluster, ScriptedEndpoint(SteadyAnswers(seconds=12)) as endpoint:
        monkeypatch.setenv("RAY_ADDRESS", cluster.address)
        world = World(tmp_path, endpoint, sandbox="bubblewrap", options=OPTIONS)
        with (tmp_path / "bot.toml").open("a") as file:
            file.write('[fleet]\naddress = "auto"\nfree_gb = 0.1\n')

        engine = world.start()
        assert wait_until(lambda: "node 2: draft" in world.log(), 120), world.log()
        assert wait_until(lambda: bool(busy(cluster)), 120), world.log()
        [lost, *_] = busy(cluster)
        cluster.kill(lost)
        assert wait_until(lambda: "of the fleet was lost" in reasons(world), 60), world.log()

        for _ in range(2):
            assert wait_until(lambda: bool(busy(cluster, besides=lost)), 120), world.log()
            engine.kill()
            engine.wait()
            assert wait_until(lambda: not busy(cluster), 60), "scripts outlived their engine"
            engine = world.start()
        assert engine.wait(300) == 0, world.log()

    result = json.loads((tmp_path / "results").read_text())
    assert result["status"] == "finished" and result["valid_submission"]
    with sqlite3.connect(run_folders([world.out])[0].database) as rows:
        ended = rows.execute("SELECT node, view, reason FROM execution WHERE reason IS NOT NULL").fetchall()
        nodes = rows.execute("SELECT id FROM node WHERE status IN ('valid', 'buggy') AND action <> 'ensemble'")
        assert len(nodes.fetchall()) == STEPS
    whole = [(node, view) for node, view, reason in ended if reason != "infrastructure"]
    assert len(whole) == len(set(whole)) > STEPS
    assert {one[:2] for one in ended if one[2] == "infrastructure"} <= set(whole)


def reasons(world: World) -> str:
    """Return what was wrong with executions."""
    found = run_folders([world.out])
    if not found or not found[0].database.is_file():
        return ""
    with sqlite3.connect(found[0].database) as rows:
        details = rows.execute("SELECT data FROM event WHERE type LIKE 'execution%'").fetchall()
    return "\n".join(str(one) for one in details)
