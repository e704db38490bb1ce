"""Replays with labs on a cluster: as on this machine, and a node and the engine die in mid-lab."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from bot.execution.folder import run_folders
from tests import needs
from tests.bot.fleet.nodes import Nodes, small_cluster
from tests.bot.replay.scripted_answers import FILES, PREDICT, LabAnswers, typed
from tests.chaos.world import SteadyAnswers, World, wait_until
from tests.scripted_endpoint import ScriptedEndpoint

pytestmark = pytest.mark.integration
OPTIONS = ("--coder", "lab", "--cpus", "1", "--gpus", "0", "--time", "40m")


class WithDeaths(SteadyAnswers):
    """Answers like a coder whose node can be killed while a command runs, and whose bot while another does."""

    COMMANDS = (
        typed("predict.py", PREDICT, f"yes | head -c 3000000 > large; python predict.py 0.1 && lab log weak {FILES}"),
        f"touch first; python predict.py 0.5 && lab log slow {FILES}; sleep 40; echo over >> large",
        "lab board; touch second; sleep 60",
        f"ls; wc -c large; python predict.py 1 && lab log strong {FILES}",
        "printf 'method: linear\\nnext: nothing\\n' | lab done",
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


def logged(made: World) -> list[str]:
    """Return the names of the experiments so far."""
    with suppress(sqlite3.OperationalError, IndexError):  # no run yet, or no table
        return [name for (name,) in rows(made, "SELECT name FROM experiment WHERE kind = 'model' ORDER BY node")]
    return []


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
        "SELECT turns, reason, report, notes FROM lab",
    ):
        assert rows(there, query) == rows(here, query)
    assert rows(there, "SELECT turns, reason FROM lab")[0] == (len(LabAnswers.COMMANDS), "its coder finished")
    assert list(cluster.folder.glob("n*/fleet/cache/files/*")), "nothing ran on the nodes"


def test_a_lab_survives_its_node_and_its_engine(cluster: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    with ScriptedEndpoint(WithDeaths()) as endpoint:
        made = on_fleet(world(tmp_path, endpoint, "--steps", "4"))
        engine = made.start()
        assert wait_until(lambda: "slow" in logged(made), 300), made.log()
        [lost] = set(labs_on(cluster, "first"))
        cluster.kill(lost)
        assert wait_until(lambda: bool(set(labs_on(cluster, "second")) - {lost}), 300), made.log()
        engine.kill()
        engine.wait()
        assert wait_until(lambda: not set(labs_on(cluster, "second")) - {lost}, 60), "the lab outlived its engine"
        assert made.start().wait(500) == 0, made.log()

    result = json.loads((tmp_path / "results").read_text())
    assert result["status"] == "finished" and result["valid_submission"]
    steps = rows(made, "SELECT result FROM step WHERE name = 'lab.turn' ORDER BY attempt")
    turns = [json.loads(one)["text"] for (one,) in steps]
    assert "was lost" in turns[1] and "no exit status" in turns[1]
    assert "[interrupted" in turns[2] and "last copied back" in turns[2]
    assert rows(made, "SELECT turns, reason FROM lab") == [(len(turns), "its coder finished")]
    assert len(turns) in (len(WithDeaths.COMMANDS), len(WithDeaths.COMMANDS) + 1)
    nodes = rows(made, "SELECT id, status FROM node WHERE action NOT IN ('ensemble', 'reproduce') ORDER BY id")
    assert [status for _, status in nodes] == ["valid"] * 4
    assert logged(made) == ["weak", "slow", "strong"], "what was logged before a death stays, and is there once"
    ended = rows(made, "SELECT node, view FROM execution WHERE reason IS NOT NULL AND reason <> 'infrastructure'")
    assert len(ended) == len(set(ended)), "a script was counted twice"
