"""`bot rehearse`: what it refuses, what it prints, and how it ends."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from typer.testing import CliRunner

from bot.cli.app import app
from state.errors import BotError, SnapshotError, UsageError
from tests.bot.simulator.site.parts import KERNELS, TWIN, Client, tiny, truth_with, write_twin
from tests.source_tree import ROOT
from tests.tiny_snapshot import SLUG, write_tiny


@contextmanager
def rehearsing(snapshot: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """Run it; further snapshots may be among the options."""
    command = [sys.executable, "-m", "bot", "rehearse", str(snapshot), "--port", "0", *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=snapshot.parent
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: "subprocess.Popen[str]") -> dict[str, Any]:
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--start", "yesterday"), "--start"),
        (("--start", "2021-01-01T00:00:00Z"), "within the dates of the competition"),
        (("--faults", "none.toml"), "none.toml cannot be read"),
    ],
)
def test_wrong_options_are_named(tmp_path: Path, options: tuple[str, ...], named: str) -> None:
    done = CliRunner().invoke(app, ["rehearse", str(write_tiny(tmp_path / "tiny")), "--port", "0", *options])
    assert isinstance(done.exception, BotError)
    assert named in str(done.exception)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--start", "2021-01-01T00:00:00Z"), "within the dates of the competitions: 2020-01-01 to 2020-03-01"),
        (("--as-dated", "--start", "2024-01-01T00:00:00Z"), "dates of the competitions: 2020-01-01 to 2023-03-01"),
    ],
)
def test_several_begin_with_the_earliest_unless_they_keep_their_times(tmp_path, options, named) -> None:
    paths = [str(write_tiny(tmp_path / "tiny")), str(write_twin(tmp_path))]
    done = CliRunner().invoke(app, ["rehearse", *paths, "--port", "0", *options])
    assert isinstance(done.exception, UsageError)
    assert named in str(done.exception)


def test_every_mistake_in_a_snapshot_is_told_in_one_go(tmp_path: Path) -> None:
    snapshot = write_tiny(tmp_path / "tiny")
    (snapshot / "leaderboard.csv").unlink()
    (snapshot / "private" / "answers.csv").unlink()
    done = CliRunner().invoke(app, ["rehearse", str(snapshot)])
    assert isinstance(done.exception, SnapshotError)
    assert len(done.exception.problems) == 2


def test_a_port_that_is_taken_is_a_usage_error(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(app, ["rehearse", str(write_tiny(tmp_path / "tiny")), "--port", str(port)])
    assert isinstance(done.exception, UsageError)
    assert f"cannot listen on port {port}" in str(done.exception)


@pytest.mark.integration
def test_programs_get_the_address_and_the_clock_and_at_the_end_the_standing(tmp_path: Path) -> None:
    with rehearsing(write_tiny(tmp_path / "tiny"), "--json", "--speed", "50") as process:
        announced = line(process)
        assert (announced["competition"], announced["clock"]["speed"]) == ("tiny-table", 50)
        assert announced["environment"]["http_proxy"] == announced["url"]
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=30)[0]
    assert process.returncode == 0
    assert json.loads(rest)["over"] is False


@pytest.mark.integration
def test_people_are_shown_the_address_the_token_and_how_to_reach_it(tmp_path: Path) -> None:
    with rehearsing(
        write_tiny(tmp_path / "tiny"), "--token", "KGAT_mine", "--start", "2020-01-20T00:00:00Z"
    ) as process:
        output = [process.stdout.readline() for _ in range(6)]
        reading, progress = (process.stderr.readline() for _ in range(2))
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=30)[0]
    text = "".join(output)
    for words in (
        "simulated Kaggle with tiny-table: http://127.0.0.1:",
        "KGAT_mine",
        "http_proxy=http://127.0.0.1:",
        "NO_PROXY= ",
    ):
        assert words in text
    assert "standing so far" in rest
    assert reading.startswith("reading ") and "2020-01-2" in progress
    assert "s left" in progress
    assert process.returncode == 0


@pytest.mark.integration
def test_a_rehearsal_ends_with_the_competition_and_tells_the_final_standing(tmp_path: Path) -> None:
    snapshot = tiny(tmp_path)
    options = ("--json", "--until-end", "--start", "2020-02-29T18:00:00Z", "--speed", "3600")
    with rehearsing(snapshot.path, *options) as process:
        announced = line(process)
        with httpx2.Client(trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) as http:
            Client(announced["url"], http, announced["token"]).submit(truth_with(snapshot, 0.0), "r-1")
        end = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 0
    assert (end["over"], end["scored"], end["rank"], end["medal"]) == (True, 1, 1, "gold")


@pytest.mark.integration
def test_two_end_with_the_last_and_a_result_for_each_and_with_1_where_one_has_no_score(tmp_path: Path) -> None:
    first, twin = tiny(tmp_path), write_twin(tmp_path)
    options = ("--json", "--until-end", "--start", "2020-02-28T18:00:00Z", "--speed", "10800")
    with rehearsing(first.path, str(twin), *options) as process:
        announced = line(process)
        with httpx2.Client(trust_env=False, verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) as http:
            assert http.get(f"{announced['url']}/clock").json() == announced["clock"]
            Client(announced["url"], http, announced["token"], SLUG).submit(truth_with(first, 0.0), "r-1")
        ends = [json.loads(text) for text in process.communicate(timeout=60)[0].splitlines()]
    assert process.returncode == 1
    assert [(end["competition"], end["over"], end["rank"]) for end in ends] == [(SLUG, True, 1), (TWIN, True, None)]


@pytest.mark.integration
def test_a_rehearsal_in_which_nothing_was_scored_ends_with_1(tmp_path: Path) -> None:
    options = ("--until-end", "--start", "2020-02-29T23:00:00Z", "--speed", "36000")
    with rehearsing(write_tiny(tmp_path / "tiny"), *options) as process:
        output = process.communicate(timeout=60)[0]
    assert process.returncode == 1
    assert "final standing" in output


@pytest.mark.integration
def test_notebooks_run_on_the_share_of_test_rows_that_is_shown(tmp_path: Path) -> None:
    options = ("--json", "--kind", "notebooks", "--public-test", "0.5", "--sandbox", "process", "--speed", "100000")
    code = "import glob\nfor path in glob.glob('/kaggle/input/**/test.csv', recursive=True): print(len(open(path).readlines()))"
    pushed = {"slug": "rehearsal/count-rows", "newTitle": "Count rows", "text": code, "kernelType": "script"}
    mine = {"userName": "rehearsal", "kernelSlug": "count-rows"}
    with rehearsing(write_tiny(tmp_path / "tiny"), *options) as process:
        verify = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        with httpx2.Client(trust_env=False, verify=verify, timeout=30) as http:
            client = Client(line(process)["url"], http)
            client.ask(f"{KERNELS}/SaveKernel", **pushed, competitionDataSources=["tiny-table"])
            while client.ask(f"{KERNELS}/GetKernelSessionStatus", **mine)["status"] in ("QUEUED", "RUNNING"):
                time.sleep(0.1)
            log = json.loads(client.ask(f"{KERNELS}/ListKernelSessionOutput", **mine)["log"])
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert [one["data"] for one in log] == ["31\n"]
