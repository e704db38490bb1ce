"""Tests of the coder that tries things out: its prompt and its bounds."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.coder import Brief, CoderBudget, Exploration, Machine, TaskText
from bot.coder.explore import Explore, ExploreAnswer
from bot.coder.explorer import Explorer, View, shown
from bot.coder.settings import SessionSettings
from bot.models import CallLimits
from bot.models.builtin import BuiltinModel
from sandbox import CellResult, Session
from state.errors import InfrastructureFailure, ModelRefused, Unparsable

TASK = TaskText("T", "About.", "log_loss", "minimize", "id", ("y",), "submission.csv")
BRIEF = Brief(TASK, "train.csv: 10 rows", Machine("3.11", 2, 4.0, 0, ("numpy 2",)), "Linear", "a linear model")
BUDGET = CoderBudget(execution_seconds=100, seconds_left=600)


class CountedSession:
    """A session whose cells take as long as they say."""

    def __init__(self) -> None:
        self.ran: list[tuple[str, float]] = []

    @property
    def seconds_left(self) -> float:
        return 100.0

    async def run(self, cell: str, seconds: float) -> CellResult:
        self.ran.append((cell, seconds))
        took = min(seconds, float(cell))
        return CellResult("ok" if took < seconds else "interrupted", f"took {took:g}", (), None, took)


class Conversation:
    """Answers in turn; keeps the prompts and the views that were opened."""

    def __init__(self, *answers: ExploreAnswer | Exception) -> None:
        self.answers = list(answers)
        self.prompts: list[Explore] = []
        self.views: list[View] = []
        self.session = CountedSession()

    async def ask(self, prompt: Explore, number: int) -> ExploreAnswer:
        assert number == len(prompt.cells)
        self.prompts.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    @asynccontextmanager
    async def opened(self, view: View) -> AsyncIterator[Session]:
        self.views.append(view)
        yield self.session

    async def explore(self, budget: CoderBudget = BUDGET, **settings: Any) -> Exploration:
        return await Explorer(self.ask, self.opened, SessionSettings(**settings)).explore(BRIEF, "draft", (), budget)


def prompt(**fields: Any) -> Explore:
    common: dict[str, Any] = {
        "task": TASK, "preview": "train.csv: 10 rows", "machine": BRIEF.machine, "action": "draft", "view": "holdout",
        "title": "Linear", "draft": "a linear model", "codebase": None, "earlier": "", "attempts": (), "cells": (),
        "cells_left": 8, "seconds_left": 60.0, "cell_seconds": 30.0, "execution_seconds": 240.0,
    }  # fmt: skip
    return Explore(**common | fields)


def test_an_answer_is_a_cell_or_done_with_notes() -> None:
    cell = prompt().parse("How large is it?\n```python\n%time len(open('data/train.csv').read())\n```")
    assert cell == ExploreAnswer("%time len(open('data/train.csv').read())\n")
    done = prompt().parse("<think>enough?</think>\n**DONE**\n\n- use `x`:\n```python\nx\n```")
    assert done == ExploreAnswer(None, "- use `x`:\n```python\nx\n```")
    with pytest.raises(Unparsable):
        prompt().parse("I am not done yet.")
    with pytest.raises(Unparsable, match="shorter"):
        prompt().parse("```python\n" + "x = 1\n" * 3000 + "```")


def test_time_left_changes_no_fingerprint() -> None:
    one, two = (prompt(seconds_left=left, cell_seconds=left) for left in (10.0, 20.0))
    assert one.messages() != two.messages()
    assert one.fingerprint() == two.fingerprint()


async def test_the_builtin_model_does_not_explore() -> None:
    answer = await BuiltinModel(0).complete(prompt(), role="explorer", limits=CallLimits())
    assert answer.answer == ExploreAnswer(None, "")


async def test_nothing_is_opened_for_a_model_that_is_done_at_once() -> None:
    talk = Conversation(ExploreAnswer(None, "I know enough."))
    assert await talk.explore() == Exploration((), "I know enough.")
    assert talk.views == []


async def test_each_cell_sees_what_earlier_ones_showed() -> None:
    talk = Conversation(ExploreAnswer("1"), ExploreAnswer("2"), ExploreAnswer(None, "two is more"))
    done = await talk.explore()
    assert [(cell.code, cell.output) for cell in done.cells] == [("1", "took 1"), ("2", "took 2")]
    assert done.notes == "two is more"
    assert "took 1" in talk.prompts[1].messages()[1].content
    assert [p.cells_left for p in talk.prompts] == [8, 7, 6]
    assert [p.seconds_left for p in talk.prompts] == [25, 24, 22]


async def test_cells_and_their_seconds_are_bounded() -> None:
    talk = Conversation(*[ExploreAnswer("1")] * 9)
    assert len((await talk.explore(cells=3)).cells) == 3
    slow = Conversation(*[ExploreAnswer("99")] * 9)
    done = await slow.explore(cell_seconds=10)
    assert [seconds for _, seconds in slow.session.ran] == [10, 10, 5]
    assert [cell.status for cell in done.cells] == ["interrupted"] * 3


async def test_little_time_is_spent_on_the_sample_and_hardly_any_on_nothing() -> None:
    for seconds, views in ((400.0, ["holdout"]), (100.0, ["sample"]), (8.0, [])):
        talk = Conversation(ExploreAnswer("1"), ExploreAnswer(None))
        await talk.explore(CoderBudget(seconds, 600))
        assert talk.views == views


@pytest.mark.parametrize("error", [ModelRefused("no"), InfrastructureFailure("no kernel")])
async def test_what_fails_while_exploring_takes_nothing_else_down(error: Exception) -> None:
    done = await Conversation(ExploreAnswer("1"), error).explore()
    assert len(done.cells) == 1


def test_a_cell_is_shown_with_its_error_first_and_without_html() -> None:
    displays = [{"text/plain": "  id\n0  1", "text/html": "<table>"}, {"image/png": "image/png, 9 bytes"}]
    error = "Traceback (most recent call last):\n\n  Cell In[1], line 1\n    1/0\n\nZeroDivisionError: by zero"
    text = shown(CellResult("error", "before\n", displays, error, 1.0, detail="It was late."))
    assert text.startswith("Traceback")
    assert "<table>" not in text
    assert all(part in text for part in ("ZeroDivisionError", "before", "  id", "image/png, 9 bytes", "It was late."))
    assert len(shown(CellResult("ok", "line\n" * 20_000, (), None, 1.0))) < 4_000
