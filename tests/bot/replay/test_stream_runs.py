"""Whole runs under a moving clock: killed, repeated, recorded, cut off earlier, and on a real competition."""

import os
import re
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.bot.replay.conftest import Bot, Finished, results
from tests.bot.replay.prompt_rules import check_prompts
from tests.bot.replay.stream_parts import MIDDLE_WORDS, STEPS, STOOD_AT, StreamAnswers, exported, moves_of
from tests.bot.replay.test_replay import tree_of
from tests.chaos.invariants import events
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint

pytestmark = pytest.mark.integration

OPTIONS = ("--pace", "stream", "--sandbox", "process", "--cpus", 1, "--json")
READS, SLEEPS = 'rows, features = read("train")', 'import time; time.sleep(2); rows, features = read("train")'
"""A line of the scripted model's scripts, and one that takes longer without any work."""
NOMAD = "nomad2018-predict-transparent-conductors"


@pytest.fixture
def snapshot(streamed_run: Finished) -> Path:
    return streamed_run.folder.parents[1] / "tiny-table"


class Deadly:
    """Answers, but kills the bot instead at every few questions."""

    def __init__(self, every: int) -> None:
        self._answers = StreamAnswers()
        self._every = every
        self._lock = threading.Lock()
        self.asked = 0
        self.bot: subprocess.Popen[bytes] | None = None

    def __call__(self, request: Request) -> Reply | str:
        with self._lock:
            self.asked += 1
            if self.asked % self._every == 0 and self.bot is not None:
                self.bot.kill()
        return self._answers(request)


def test_a_run_that_is_killed_again_and_again_is_the_undisturbed_one_and_its_clock_never_goes_back(
    bot: Bot, snapshot: Path, streamed_run: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deadly, kills, stood = Deadly(every=9), 0, ""
    with ScriptedEndpoint(deadly) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--model", "openai:scripted", "--steps", STEPS, *OPTIONS, "--out", tmp_path / "killed")
        first = ["replay", str(snapshot), *map(str, options)]
        again = ["resume", str(tmp_path / "killed")]
        while kills == 0 or deadly.bot is None or deadly.bot.returncode != 0:
            command = [sys.executable, "-m", "bot", *(again if kills else first)]
            deadly.bot = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ}
            )
            deadly.bot.wait(180)
            kills += deadly.bot.returncode != 0
            assert kills < 20
            (run,) = (tmp_path / "killed").iterdir()
            moved = [event["as_of"] for event in events(run) if event["type"] == "clock.moved"]
            assert moved == sorted(moved)
            assert not moved or moved[-1] >= stood
            stood = moved[-1] if moved else stood
    assert kills >= 2
    assert moves_of(run) == moves_of(streamed_run.folder) == [(as_of, node) for node, as_of in enumerate(STOOD_AT, 2)]
    assert tree_of(run) == tree_of(streamed_run.folder)
    clocks = [prompt["as_of"] for prompt in exported(run, "prompts")]
    assert clocks == sorted(clocks)
    assert bot("audit", run).exit_code == 0


@pytest.mark.usefixtures("pageless")
def test_a_recording_gives_the_same_tree_and_the_same_times_without_the_endpoint(bot, snapshot, streamed_run) -> None:
    live = streamed_run.result
    model = f"recorded:{streamed_run.folder.parents[1] / 'tape'}"
    (again,) = results(bot("replay", snapshot, "--model", model, "--steps", STEPS, *OPTIONS))
    assert tree_of(again["run"]) == tree_of(live["run"])
    assert moves_of(again["run"]) == moves_of(live["run"])
    assert (again["score"], again["llm"]["calls"]) == (live["score"], live["llm"]["calls"])
    assert _without_seconds(again["stream"]) == _without_seconds(live["stream"])


def _without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_seconds(one) for key, one in value.items() if key != "seconds"}
    return [_without_seconds(one) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("pace", ["stream", pytest.param("all", marks=pytest.mark.trial)])
@pytest.mark.usefixtures("light")
def test_a_cutoff_in_the_middle_hides_what_was_posted_later_at_both_paces(bot, snapshot, monkeypatch, pace) -> None:
    options = ("--model", "openai:scripted", "--steps", 2, "--cutoff", "2020-01-08T00:00:00Z")
    with ScriptedEndpoint(StreamAnswers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        done = bot("replay", snapshot, *options, "--signals", "collected", *OPTIONS, "--pace", pace)
    (result,) = results(done)
    assert result["cutoff"].startswith("2020-01-08T00:00:00")
    assert (result["community"]["messages"], result["community"]["kernels"]) == (1, 1)
    assert all(prompt["as_of"] <= "2020-01-08T00:00:00Z" for prompt in exported(result["run"], "prompts"))
    assert MIDDLE_WORDS not in (Path(result["run"]) / "prompts.jsonl").read_text()
    assert bot("audit", result["run"]).exit_code == 0


@pytest.mark.trial
@pytest.mark.usefixtures("light")
def test_a_run_without_steps_moves_its_clock_with_the_time(bot, snapshot, monkeypatch) -> None:
    answers = StreamAnswers()

    def slowly(request: Request) -> Reply | str:
        reply = answers(request)
        return replace(reply, text=reply.text.replace(READS, SLEEPS)) if isinstance(reply, Reply) else reply

    with ScriptedEndpoint(slowly) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--model", "openai:scripted", "--time", "40s")
        (result,) = results(bot("replay", snapshot, *options, *OPTIONS))
    stream = result["stream"]
    assert stream["moved_with"] == "time"
    times = [datetime.fromisoformat(move["as_of"]) for move in stream["moves"]]
    assert times == sorted(set(times))
    assert len(times) > 1
    assert bot("audit", result["run"]).exit_code == 0


@pytest.mark.trial
def test_on_a_real_competition_the_report_shows_a_post_of_mid_run_and_the_node_that_used_it(bot: Bot) -> None:
    snapshot = needs.snapshots() / NOMAD
    options = ("--model", "builtin", "--steps", 3, "--time", "5m", *OPTIONS)
    (result,) = results(bot("replay", snapshot, *options))
    stream, run = result["stream"], Path(result["run"])
    assert result["valid_submission"]
    assert {"analyst", "proposer", "coordinator", "coder", "reporter"} <= check_prompts(run)
    assert not re.search("CANARY-(AFTER-DEADLINE|LATE-REPLY)", (run / "prompts.jsonl").read_text())
    first = datetime.fromisoformat(stream["moves"][1]["as_of"])
    used = [p for p in stream["posts"] if p["nodes"] and datetime.fromisoformat(p["posted"]) > first]
    assert used, "a post that appeared after the first look, and led to a node"
    page = (run / "report.html").read_text()
    section = page[page.index('<section id="known">') : page.index('<section id="agreement">')]
    for post in used:
        (row,) = [line for line in section.splitlines() if re.search(rf">{post['item']}<", line)]
        assert f'<a href="#node-{post["nodes"][0]}">' in row
        started = next(node for node in stream["nodes"] if node["node"] == post["nodes"][0])
        assert started["seconds"] >= post["seconds"]
        assert started["as_of"] >= post["as_of"] >= post["posted"]
    assert bot("audit", run).exit_code == 0
