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
from bot.coder.lab.work import Work
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.strategy import Strategy
from bot.models import Usage
from bot.models.ask import Asker
from bot.simulator.scripted_model import ScriptedModel
from sandbox.leftovers import find_orphaned_resources
from state.errors import BudgetExceeded
from state.labs import labs
from state.spending import read_spending
from state.tables import Lab, ModelCall
from tests import needs
from tests.bot.coder.lab.owned import PRICE, strategy, tiny, worked
from tests.bot.coder.lab.scripted import logged, only_story, turns
from tests.bot.engine.parts import RUN

pytestmark = pytest.mark.integration

LOOK, DONE = "ls; lab status; lab board", "printf 'method: ridge\\nnext: trees\\n' | lab done"


@pytest.fixture(autouse=True)
def walls(tmp_path: Path) -> None:
    """These labs need bubblewrap, and a folder that its user may enter."""
    needs.bubblewrap()
    tmp_path.chmod(0o755)


def only_lab(context: RunContext) -> Lab:
    """Return the run's lab."""
    [row] = labs(context.store, RUN)
    return row


async def test_an_agent_looks_around_logs_improves_and_is_done(tmp_path: Path) -> None:
    model = ScriptedModel([LOOK, logged("weak", 0.2), logged("strong", 1.0), DONE])
    async with worked(tmp_path / "run", tiny(), model) as context:
        row, tree = only_lab(context), load_tree(context)
        charged = read_spending(context.store, RUN)["tokens"]
        with context.store.read() as session:
            story = only_story(session)
            calls = session.exec(select(ModelCall).order_by(col(ModelCall.seq))).all()
    assert (row.reason, row.turns, row.report["method"]) == ("its coder finished", 1, "ridge")
    assert [tree[node].valid for node in (2, 3)] == [True, True]
    assert "requests to your model left" in story.turns[0].observation
    assert "s left]" in story.turns[0].observation
    assert Usage(charged.prompt_tokens, charged.completion_tokens, charged.cached_tokens) == model.usage
    assert charged.cost_usd == pytest.approx(PRICE.cost(model.usage))
    # What it can have read is said once, as it stays so.
    assert len(calls) == len(model.answers) == 5
    assert calls[0].items
    assert not calls[1].items
    assert "You work alone on a Linux machine" in model.requests[0]
    assert re.search(r"Your time ends at \d\d:\d\d:\d\d UTC \(see `date -u`\)", model.requests[0])
    assert "Your time is nearly up" not in "".join(model.requests)


async def test_an_agent_that_fails_is_started_anew_and_the_third_time_its_lab_is_closed(tmp_path: Path) -> None:
    model = ScriptedModel(["head -n 2 /lab/TASK.md", logged("one", 0.5), "true"])
    async with worked(tmp_path / "run", tiny("--crash", 3), model) as context:
        row, seen, tree = only_lab(context), turns(context), load_tree(context)
    assert row.turns == 3
    assert (row.reason or "").startswith(
        'its coder failed 3 times; the last error: it exited with status 1: "the tiny agent crashed'
    )
    assert "You are starting again" not in seen[0]
    assert "until it exited with status 1" in seen[1]
    assert tree[2].valid, "what it logged stays"


async def test_an_agent_that_fails_before_it_asks_for_anything_is_started_once(tmp_path: Path) -> None:
    command = "echo nothing here >&2; exit 3"
    async with worked(tmp_path / "run", tiny(command=command), ScriptedModel([])) as context:
        row = only_lab(context)
    assert (row.reason, row.turns) == (
        'its coder sent no request to its model: it exited with status 3: "nothing here"',
        1,
    )


async def test_an_agent_is_warned_under_its_requests_and_ended_when_its_time_is_over(tmp_path: Path) -> None:
    model = ScriptedModel([logged("one", 0.5), *["sleep 1"] * 30, "sleep 300"])
    async with worked(tmp_path / "run", tiny(), model, partial(strategy, seconds=20.0)) as context:
        row, tree = only_lab(context), load_tree(context)
    assert row.reason == "it ran out of time"
    assert tree[2].valid, "what it logged stays"
    warned = ["Your time is nearly up" in request for request in model.requests]
    assert not warned[0] and warned[-1], "in the last fifth of its time"


async def test_an_agent_that_has_called_lab_done_is_not_warned_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Work, "_warning", lambda self, left: "Your time is nearly up")
    model = ScriptedModel([logged("one", 0.5), DONE, "true"])
    async with worked(tmp_path / "run", tiny(), model) as context:
        assert only_lab(context).reason == "its coder finished"
    warned = [request.count("Your time is nearly up") for request in model.requests]
    # Under the request, and under the answer of `lab log`, which stays in the conversation.
    assert warned[0] == 1 and warned[-1] == 1


async def test_an_agent_that_does_not_end_after_lab_done_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.coder.lab.session._GRACE", 1.0)
    model = ScriptedModel([logged("one", 0.5), DONE, "sleep 300"])
    async with worked(tmp_path / "run", tiny(), model) as context:
        assert only_lab(context).reason == "its coder finished"


async def test_requests_are_bounded_as_turns_are(tmp_path: Path) -> None:
    model = ScriptedModel(["true"] * 100)
    few = partial(strategy, settings=LabSettings(turns=3))
    async with worked(tmp_path / "run", tiny(), model, few) as context:
        assert only_lab(context).reason == "all of its 3 requests have been used"
    assert len(model.requests) == 3


class Picky(ScriptedModel):
    """Answers a conversation in which a word stands as if the key were wrong."""

    def answer(self, path: str, body: bytes) -> tuple[str, bytes]:
        """Return an error in place of some answers."""
        if b"a bad word" in body:
            return "application/json", b'{"error": {"code": 404, "message": "no such model"}}'
        return super().answer(path, body)


async def test_a_request_that_is_refused_as_if_the_key_were_wrong_ends_no_run(tmp_path: Path) -> None:
    model = Picky([logged("one", 0.5), "echo a bad word", "true"])
    async with worked(tmp_path / "run", tiny(), model) as context:
        row, tree = only_lab(context), load_tree(context)
    assert (row.reason or "").startswith("its coder failed 3 times") and row.turns == 3
    assert tree[2].valid, "what it logged stays"


async def test_refusals_in_a_row_close_the_lab(tmp_path: Path) -> None:
    ask = (
        "python3 -c 'import os, json, urllib.request as u; "
        'body = {"model": os.environ["CODER_MODEL"], "messages": [{"role": "user", "content": "a bad word"}]}; '
        'u.urlopen(u.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode()))\''
    )
    command = f"for i in 1 2 3 4 5 6 7; do {ask} 2>/dev/null; done; sleep 300"
    async with worked(tmp_path / "run", tiny(command=command), Picky([])) as context:
        assert only_lab(context).reason == "the endpoint refused 5 consecutive requests"


async def test_a_cap_closes_the_lab_and_ends_the_run(tmp_path: Path) -> None:
    def capped(context: RunContext) -> Strategy:
        level = Level("run", Caps(tokens=100))
        calls = context.asker.calls
        asker = Asker(calls._model, context.store, RUN, context.clock, context.steps, budget=level)
        return strategy(replace(context, asker=asker))

    model = ScriptedModel([LOOK])
    with suppress(BudgetExceeded):
        async with worked(tmp_path / "run", tiny(), model, capped) as context:
            assert "tokens" in (only_lab(context).reason or "")
    assert not model.requests


async def test_solo_with_an_agent_hands_in_what_it_left(tmp_path: Path) -> None:
    alone = "ls /lab/.engine; lab status; cp data/sample_submission.csv submission.csv"
    model = ScriptedModel([alone])
    async with worked(tmp_path / "run", tiny(), model, solo) as context:
        row, seen, tree = only_lab(context), turns(context), load_tree(context)
    assert row.reason == "its coder exited"
    assert "cannot connect to the engine" in seen[0]
    assert tree[2].state == "valid"
    assert "lab score" not in model.requests[0]


async def test_after_a_kill_the_agent_begins_again_in_the_same_folder(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.bot.coder.lab.doomed_session", str(tmp_path / "run")]
    killed = await asyncio.to_thread(subprocess.run, program, capture_output=True, text=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    for left in find_orphaned_resources(tmp_path / "run"):
        left.remove()
    model = ScriptedModel(["cat notes.txt", logged("weak", 0.2), logged("strong", 1.0), DONE])
    async with worked(tmp_path / "run", tiny(), model) as context:
        row, seen, tree = only_lab(context), turns(context), load_tree(context)
        with context.store.read() as session:
            calls = len(session.exec(select(ModelCall)).all())
    assert (row.reason, row.turns) == ("its coder finished", 2)
    assert "the bot was restarted" in seen[0]
    assert "begun before the kill" in seen[1]
    assert "You are starting again" in model.requests[0]
    assert [tree[node].valid for node in (2, 3)] == [True, True]
    assert calls == len(model.requests) + 2, "what was asked before the kill is neither lost nor paid twice"
