"""Replays with labs on a cluster: as on this machine, and a node and the engine die in mid-lab."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.execution.folder import run_folders
from tests import needs
from tests.bot.replay.scripted_answers import SCRIPT, LabAnswers, typed
from tests.chaos.world import SteadyAnswers, World, wait_until
from tests.sandbox.fleet.nodes import Nodes, small_cluster
from tests.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.integration
OPTIONS = ("--coder", "lab", "--cpus", "1", "--gpus", "0", "--time", "40m", "--no-race")


class WithDeaths(SteadyAnswers):
    """Answers like a coder whose node can be killed while a script is scored, and whose bot while a command runs."""

    COMMANDS = (
        typed("solution.py", SCRIPT.format(c=0.01), "yes | head -c 3000000 > large; lab score solution.py --note weak"),
        typed(
            "slow.py",
            SCRIPT.format(c=0.1) + "import time; time.sleep(40)",
            "lab score slow.py --note slow; echo over >> large",
        ),
        "lab board; touch second; sleep 60",
        typed("solution.py", SCRIPT.format(c=1.0), "ls; wc -c large; lab score solution.py --note strong"),
        "printf 'believed: linear\\nseen: it is\\n' | lab done",
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[Nodes]:
    needs.bubblewrap()
    with small_cluster(0, 0) as nodes:
        yield nodes


def world(place: Path, endpoint: ScriptedEndpoint, *options: str) -> World:
    made = World(place, endpoint, sandbox="bubblewrap", options=(*OPTIONS, *options))
    place.chmod(0o755)
    return made


def on_fleet(made: World) -> World:
    """Have all that a world starts run on nodes, though they have little disk left."""
    with (made.place / "bot.toml").open("a") as file:
        file.write('[fleet]\naddress = "auto"\nfree_gb = 0.1\n')
    return made


def rows(made: World, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(run_folders([made.out])[0].database)) as database:
        return database.execute(query).fetchall()


def labs_on(cluster: Nodes, file: str) -> list[str]:
    """Return the nodes on which a lab has made a file."""
    found = cluster.folder.glob(f"n*/fleet/slots/*/labs/lab/work/{file}")
    return [path.relative_to(cluster.folder).parts[0] for path in found]


def scoring_slowly(cluster: Nodes) -> list[str]:
    """Return the nodes on which a lab's second script is being scored."""
    return [name for name in set(labs_on(cluster, "slow.py")) if cluster.running(name)]


def test_a_lab_on_a_node_gives_the_conversation_and_nodes_of_one_here(
    cluster: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    with ScriptedEndpoint(LabAnswers()) as endpoint:
        there = on_fleet(world(tmp_path / "there", endpoint, "--steps", "4", "--record", "tape"))
        assert there.start().wait(500) == 0, there.log()
        tape = tmp_path / "there" / "tape"
        here = world(tmp_path / "here", endpoint, "--steps", "4", "--model", f"recorded:{tape}")
        assert here.start().wait(300) == 0, here.log()
    for query in (
        "SELECT step, answer_sha FROM modelcall ORDER BY step, seq",
        "SELECT id, action, parents, status, score, code_sha FROM node ORDER BY id",
        "SELECT turns, reason, report, notes, hints FROM lab",
    ):
        assert rows(there, query) == rows(here, query)
    assert rows(there, "SELECT turns, reason FROM lab")[0] == (len(LabAnswers.COMMANDS), "its coder was done")
    assert list(cluster.folder.glob("n*/fleet/cache/files/*")), "nothing ran on the nodes"


def test_a_lab_survives_its_node_and_its_engine(cluster: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    with ScriptedEndpoint(WithDeaths()) as endpoint:
        made = on_fleet(world(tmp_path, endpoint, "--steps", "4"))
        engine = made.start()
        assert wait_until(lambda: bool(scoring_slowly(cluster)), 300), made.log()
        [lost] = scoring_slowly(cluster)
        cluster.kill(lost)
        assert wait_until(lambda: bool(set(labs_on(cluster, "second")) - {lost}), 300), made.log()
        assert rows(made, "SELECT node FROM execution WHERE reason = 'infrastructure'") == [(3,)]
        engine.kill()
        engine.wait()
        assert wait_until(lambda: not set(labs_on(cluster, "second")) - {lost}, 60), "the lab outlived its engine"
        assert made.start().wait(500) == 0, made.log()

    result = json.loads((tmp_path / "results").read_text())
    assert result["status"] == "finished" and result["valid_submission"]
    steps = rows(made, "SELECT result FROM step WHERE name = 'lab.turn' ORDER BY attempt")
    turns = [json.loads(one)["text"] for (one,) in steps]
    assert "was lost" in turns[1] and "no exit status" in turns[1]
    assert "[interrupted" in turns[2] and "copied back last" in turns[2]
    # With the files of the last score, and not what came after it.
    assert "3000000 large" in turns[-2] and "slow.py" in turns[-2]
    assert rows(made, "SELECT turns, reason FROM lab") == [(len(turns), "its coder was done")]
    assert len(turns) in (len(WithDeaths.COMMANDS), len(WithDeaths.COMMANDS) + 1)
    nodes = rows(made, "SELECT id, status FROM node WHERE action NOT IN ('ensemble', 'reproduce') ORDER BY id")
    assert [status for _, status in nodes] == ["valid"] * 4
    slow = nodes[2][0]
    assert any(f"node {slow}" in text for text in turns[2:-1]), "neither its answer nor its card was seen"
    ended = rows(made, "SELECT node, view FROM execution WHERE reason IS NOT NULL AND reason <> 'infrastructure'")
    assert len(ended) == len(set(ended)), "a script was counted twice"
