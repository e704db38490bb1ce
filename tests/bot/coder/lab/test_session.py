"""Tests of a lab in which an agent of the owner's works, under bubblewrap."""

import asyncio
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.agents.solo import solo
from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.coder.lab.settings import LabSettings
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.strategy import Strategy
from bot.models import Usage
from bot.models.ask import Asker
from bot.report.labs import lab_stories
from sandbox.leftovers import left_by_killed
from state.errors import BudgetExceeded
from state.labs import labs
from state.spending import spent
from state.tables import Lab, ModelCall
from tests import needs
from tests.bot.coder.lab.owned import PRICE, Remembering, scored, strategy, tiny, worked
from tests.bot.coder.lab.scripted import turns
from tests.bot.engine.parts import RUN

pytestmark = pytest.mark.integration

LOOK, DONE = "ls; lab status; lab board", "printf 'believed: ridge\\nseen: it works\\n' | lab done"


@pytest.fixture(autouse=True)
def walls(tmp_path: Path) -> None:
    """These labs need bubblewrap, and a folder that its user may enter."""
    needs.bubblewrap()
    tmp_path.chmod(0o755)


def only_lab(context: RunContext) -> Lab:
    """Return the run's lab."""
    [row] = labs(context.store, RUN)
    return row


async def test_an_agent_looks_around_scores_improves_and_is_done(tmp_path: Path) -> None:
    endpoint = Remembering([LOOK, scored(0.2), scored(1.0), DONE])
    async with worked(tmp_path / "run", tiny(), endpoint) as context:
        row, tree = only_lab(context), load_tree(context)
        charged = spent(context.store, RUN)["tokens"]
        with context.store.read() as session:
            [story] = lab_stories(session, RUN)
            calls = session.exec(select(ModelCall).order_by(col(ModelCall.seq))).all()
    assert (row.reason, row.turns, row.report["believed"]) == ("its coder was done", 1, "ridge")
    assert [tree[node].valid for node in (2, 3)] == [True, True]
    assert "requests to your model left" in story.turns[0].seen
    assert "s left]" in story.turns[0].seen
    used = endpoint.counted
    assert (charged.prompt_tokens, charged.cached_tokens) == (used.prompt, used.cached)
    assert charged.completion_tokens == used.completion
    assert charged.cost_usd == pytest.approx(PRICE.cost(Usage(used.prompt, used.completion, used.cached)))
    # What it can have read is said once, as it stays so.
    assert len(calls) == len(endpoint.answered) == 5
    assert calls[0].items
    assert not calls[1].items
    assert "You work alone on a Linux machine" in endpoint.requests[0]
    assert re.search(r"Your time is over at \d\d:\d\d:\d\d by `date -u`, or sooner", endpoint.requests[0])
    assert "Your time is nearly over" not in "".join(endpoint.requests)


async def test_an_agent_that_fails_is_started_anew_and_the_third_time_its_lab_is_closed(tmp_path: Path) -> None:
    written = scored(0.5).replace("lab score", "true")
    endpoint = Remembering(["head -n 2 /lab/TASK.md", written, "true"])
    async with worked(tmp_path / "run", tiny("--crash", 3), endpoint) as context:
        row, seen, tree = only_lab(context), turns(context), load_tree(context)
    assert row.turns == 3
    assert (row.reason or "").startswith(
        "its coder failed 3 times, at last so: it ended with status 1: the tiny agent crashed"
    )
    assert "You begin again" not in seen[0]
    assert "that start was ended: it ended with status 1" in seen[1]
    # What it left is scored all the same.
    assert tree[2].valid


async def test_an_agent_that_fails_before_it_asks_for_anything_is_started_once(tmp_path: Path) -> None:
    command = "echo nothing here >&2; exit 3"
    async with worked(tmp_path / "run", tiny(command=command), Remembering([])) as context:
        row = only_lab(context)
    assert (row.reason, row.turns) == ("its coder asked its model nothing: it ended with status 3: nothing here", 1)


async def test_an_agent_is_warned_under_its_requests_and_ended_when_its_time_is_over(tmp_path: Path) -> None:
    endpoint = Remembering([LOOK, scored(0.5).replace("lab score", "true"), "sleep 300"])
    async with worked(tmp_path / "run", tiny(), endpoint, partial(strategy, seconds=15.0)) as context:
        row, tree = only_lab(context), load_tree(context)
    assert row.reason == "its time was used up"
    assert tree[2].valid, "what lies in work/solution.py is scored at the close"
    assert all("Your time is nearly over" in request for request in endpoint.requests)


async def test_an_agent_that_has_called_lab_done_is_not_warned_any_more(tmp_path: Path) -> None:
    endpoint = Remembering([scored(0.5), DONE, "true"])
    async with worked(tmp_path / "run", tiny(), endpoint, partial(strategy, seconds=15.0)) as context:
        assert only_lab(context).reason == "its coder was done"
    warned = [request.count("Your time is nearly over") for request in endpoint.requests]
    # Under the request, and under the answer of `lab score`, which stays in the conversation.
    assert warned[0] == 1 and warned[-1] == 1


async def test_an_agent_that_does_not_end_after_lab_done_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.coder.lab.session._GRACE", 1.0)
    endpoint = Remembering([scored(0.5), DONE, "sleep 300"])
    async with worked(tmp_path / "run", tiny(), endpoint) as context:
        assert only_lab(context).reason == "its coder was done"


async def test_requests_are_bounded_as_turns_are(tmp_path: Path) -> None:
    endpoint = Remembering(["true"] * 100)
    few = partial(strategy, settings=LabSettings(turns=3))
    async with worked(tmp_path / "run", tiny(), endpoint, few) as context:
        assert only_lab(context).reason == "its 3 requests were used up"
    assert 3 < len(endpoint.requests) < 100


async def test_a_cap_closes_the_lab_and_ends_the_run(tmp_path: Path) -> None:
    def capped(context: RunContext) -> Strategy:
        level = Level("run", Caps(tokens=100))
        calls = context.asker.calls
        asker = Asker(calls._model, context.store, RUN, context.clock, context.steps, budget=level)
        return strategy(replace(context, asker=asker))

    endpoint = Remembering([LOOK])
    with suppress(BudgetExceeded):
        async with worked(tmp_path / "run", tiny(), endpoint, capped) as context:
            assert "tokens" in (only_lab(context).reason or "")
    assert not endpoint.requests


async def test_solo_with_an_agent_hands_in_what_it_left(tmp_path: Path) -> None:
    alone = "ls /lab/.engine; lab status; cp data/sample_submission.csv submission.csv"
    endpoint = Remembering([alone])
    async with worked(tmp_path / "run", tiny(), endpoint, solo) as context:
        row, seen, tree = only_lab(context), turns(context), load_tree(context)
    assert row.reason == "its coder ended by itself"
    assert "the engine does not answer" in seen[0]
    assert tree[2].state == "valid"
    assert "lab score" not in endpoint.requests[0]


async def test_after_a_kill_the_agent_begins_again_in_the_same_folder(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.bot.coder.lab.doomed_session", str(tmp_path / "run")]
    killed = await asyncio.to_thread(subprocess.run, program, capture_output=True, text=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for left in left_by_killed(tmp_path / "run"):
        left.remove()
    endpoint = Remembering(["cat notes.txt", scored(1.0), DONE])
    async with worked(tmp_path / "run", tiny(), endpoint) as context:
        row, seen, tree = only_lab(context), turns(context), load_tree(context)
        with context.store.read() as session:
            calls = len(session.exec(select(ModelCall)).all())
    assert (row.reason, row.turns) == ("its coder was done", 2)
    assert "the bot was restarted meanwhile" in seen[0]
    assert "begun before the kill" in seen[1]
    assert "You begin again" in endpoint.requests[0]
    assert [tree[node].valid for node in (2, 3)] == [True, True]
    assert calls == len(endpoint.requests) + 2, "what was asked before the kill is neither lost nor paid twice"
