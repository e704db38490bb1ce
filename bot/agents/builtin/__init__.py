"""The built-in model: rules that answer typed prompts in text, without a key.

A rule for another prompt is an entry point of the group `bot.rules`, by the prompt's name: a function that gets the prompt and
a seed, and returns the answer's text.
"""

from pkgutil import resolve_name
from typing import Any

from bot.agents.builtin import coding, ideas, posts, reports
from bot.agents.builtin.coding import baseline_script, simple_scripts
from bot.coder.prompts import ReviewRun, WriteScript
from bot.community.drafts.prompts import PlanDrafts
from bot.community.drafts.reporting import WriteReport
from bot.community.ideas.prompts import ProposeIdeas
from bot.community.reading.prompts import ReadPosts
from bot.community.reproduction.repair import RepairKernel
from bot.engine.services import RuleBasedParts
from bot.extensions import declared
from bot.knowledge.prompts import LabelTask
from bot.models import AnswerT, CallLimits, Completion, Prompt, Usage
from bot.models.completion import estimated_tokens
from state.errors import ModelRefused

__all__ = ["BUILT_IN", "NAME", "BuiltinModel", "baseline_script"]

NAME = "builtin"


class BuiltinModel:
    """A baseline and a fallback; equal prompts and seeds give equal answers."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt by the rule of its kind; `role` and `limits` have no effect, as no call is slow or costs money.

        Raises:
            ModelRefused: there is no rule for this prompt.
            Unparsable: a rule's answer broke the prompt's format, which is an error of ours.
        """
        text = self._reply(prompt)
        usage = Usage(sum(estimated_tokens(m.content) for m in prompt.messages()), estimated_tokens(text))
        return Completion(prompt.parse(text), text, usage, NAME, 0.0)

    def _reply(self, prompt: Prompt[Any]) -> str:
        match prompt:
            case ReadPosts():
                return posts.read(prompt)
            case ProposeIdeas():
                return ideas.propose(prompt)
            case PlanDrafts():
                return ideas.plan(prompt)
            case WriteScript():
                return coding.reply(prompt, self._seed)
            case RepairKernel():
                return coding.repair_kernel(prompt)
            case ReviewRun():
                return reports.review(prompt)
            case LabelTask():
                return posts.label_task(prompt)
            case WriteReport():
                return reports.report(prompt)
        if rule := declared("rules").get(prompt.name):
            return str(resolve_name(rule)(prompt, self._seed))
        raise ModelRefused(f"the built-in model has no rule for the prompt {prompt.name!r}")


BUILT_IN = RuleBasedParts(BuiltinModel, baseline_script, simple_scripts)
