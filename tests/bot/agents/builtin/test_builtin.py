"""The built-in model: reads no more than the text says, repeats itself, charges nothing."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from bot.agents.builtin import NAME, BuiltinModel
from bot.coder.prompts import ReviewRun
from bot.community.drafts.reporting import WriteReport
from bot.community.reading.prompts import ReadPosts
from bot.knowledge.prompts import LabelTask
from bot.models import CallLimits, Item, Message
from bot.research.agents.automind_prompts import (
    FailedSubstep,
    PlanSolution,
    ScorePlan,
    SplitPlan,
    WorkingSubsteps,
    WriteSubstep,
)
from bot.research.agents.rag_prompts import DocumentTitle, PickPosts, SummarisePost
from bot.research.curation.prompts import ExtractTricks
from state.errors import ModelRefused
from tests.bot.agents.builtin.parts import (
    MACHINE,
    NOW,
    RESULT,
    TABLE,
    TASK,
    analysis,
    attempt,
    document,
    idea,
    plan_drafts,
    post,
    propose_ideas,
    report,
    write_script,
)

PROMPTS = [
    ReadPosts(TASK, (document(replace(post("Use extra trees, 0.123."), language="python")),)),
    propose_ideas((analysis(1, 8, "Use extra trees."),), (idea(1, "Use LDA."),), (report(1, 0.5),)),
    plan_drafts((idea(1, "Use LDA."),), (report(1, 0.5),), 2),
    write_script("improve", attempts=[attempt("x = 1", error="slow")], codebase="y = 2"),
    write_script("improve", attempts=[attempt("x = 1", error="slow")], memory="node 1"),
    ReviewRun(TASK, attempt("x = 1", error="slow")),
    WriteReport(TASK, "A draft", "Use LDA.", (attempt("x = 1", error="slow"),), best=1),
    PickPosts(TASK, (DocumentTitle(Item("topic/1", NOW), "Use LDA", 3, 0.4, 2),), "improve", "A plan."),
    SummarisePost(TASK, document(replace(post("Use extra trees, 0.123."), language="python"))),
    PlanSolution(
        TASK,
        TABLE,
        MACHINE,
        "improve",
        "Boost.",
        "node 1",
        attempt("x = 1", error="slow"),
        "Noted.",
        (RESULT,),
        60.0,
        90.0,
    ),
    ScorePlan("Use LDA and extra trees."),
    SplitPlan(TASK, TABLE, "Use LDA.", "x = 1"),
    WriteSubstep(
        TASK,
        TABLE,
        MACHINE,
        "Use LDA.",
        ("Read.", "Predict."),
        2,
        WorkingSubsteps("x = 1", "It printed.", 3.0),
        FailedSubstep("y = 2", "KeyError", "A trace."),
        attempt("z = 3", error="slow"),
        60.0,
        20.0,
    ),
    LabelTask("Birds", "Which birds call?", "auc", TABLE),
    ExtractTricks(
        "Birds", "auc", "Which birds call?", document(replace(post("Use extra trees, 0.123."), language="python"))
    ),
]
UNSAID = {"known", "action"}
"""Where a draft comes from is for the audit; an action is a word of ours."""


class Sentinels:
    """Replaces every text in a prompt by a word of its own."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}

    def planted(self, value: Any, place: str) -> Any:
        if isinstance(value, str):
            word = f"sentinel{len(self.words)}x"
            self.words[word] = place
            return word
        if isinstance(value, tuple):
            return tuple(self.planted(v, f"{place}[]") for v in value)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(value, **dict(self._fields(value, place)))
        return value

    def _fields(self, value: Any, place: str) -> Iterator[tuple[str, Any]]:
        for field in fields(value):
            if field.name not in UNSAID or (isinstance(getattr(value, field.name), str) and field.name != "action"):
                yield field.name, self.planted(getattr(value, field.name), f"{place}.{field.name}")


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda p: p.name)
def test_the_rendered_text_says_every_field_that_a_rule_may_read(prompt: Any) -> None:
    sentinels = Sentinels()
    text = "\n".join(m.content for m in sentinels.planted(prompt, prompt.name).messages())
    assert [place for word, place in sentinels.words.items() if word not in text] == []


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda p: p.name)
async def test_every_prompt_has_an_answer_that_costs_nothing(prompt: Any) -> None:
    done = await BuiltinModel(0).complete(prompt, role="any", limits=CallLimits())
    assert done.answer == prompt.parse(done.text)
    assert (done.model, done.cost_usd) == (NAME, 0.0)
    assert done.usage.completion_tokens == -(-len(done.text) // 4)
    assert done.usage.prompt_tokens >= sum(len(m.content) for m in prompt.messages()) // 4


async def test_time_left_changes_no_answer() -> None:
    texts = set()
    for seconds in (100.0, 7.0):
        prompt = write_script(seconds_left=seconds)
        texts.add((await BuiltinModel(3).complete(prompt, role="any", limits=CallLimits())).text)
    assert len(texts) == 1


async def test_seeds_vary_the_scripts_of_one_draft() -> None:
    prompt = write_script("improve", attempts=[attempt("print()", output="")])
    texts = {(await BuiltinModel(s).complete(prompt, role="any", limits=CallLimits())).text for s in range(5)}
    assert len(texts) > 1


class Riddle:
    """A prompt that no rule is for."""

    name = "riddle"

    def messages(self) -> list[Message]:
        return [Message("user", "What has roots that nobody sees?")]

    def parse(self, text: str) -> str:
        return text

    def items(self) -> list[Item]:
        return [Item("message/1", NOW)]


async def test_refuses_a_prompt_that_it_has_no_rule_for() -> None:
    with pytest.raises(ModelRefused, match="riddle"):
        await BuiltinModel(0).complete(Riddle(), role="any", limits=CallLimits())
