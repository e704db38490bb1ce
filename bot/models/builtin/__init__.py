"""The built-in model: rules that need no key, which read a typed prompt and answer in text like any other model."""

import hashlib
import random
from collections.abc import Sequence
from typing import Any

from bot.coder.prompts import ReviewRun, WriteScript
from bot.community.prompts import AnalyzePost, PlanDrafts, ProposeIdeas, WriteReport
from bot.models import AnswerT, CallLimits, Completion, Message, Prompt, Usage
from bot.models.builtin import coding, planning, posts, reporting
from bot.models.builtin.baseline import baseline_script
from bot.models.template import TemplatePrompt
from state.errors import ModelRefused

__all__ = ["NAME", "BuiltinModel", "baseline_script"]

NAME = "builtin"
_CHARACTERS_A_TOKEN = 4


class BuiltinModel:
    """A baseline and a fallback; equal prompts and seeds give equal answers."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt by the rule of its name; `role` and `limits` change nothing, for no call takes long or costs.

        Raises:
            ModelRefused: there is no rule for this prompt.
            Unparsable: a rule's answer broke the prompt's format, which is an error of ours.
        """
        stable = prompt.fingerprint() if isinstance(prompt, TemplatePrompt) else prompt.messages()
        text = _reply(prompt, self._rng(stable))
        usage = Usage(sum(_tokens(m.content) for m in prompt.messages()), _tokens(text))
        return Completion(prompt.parse(text), text, usage, NAME, 0.0)

    def _rng(self, messages: Sequence[Message]) -> random.Random:
        """Return a generator that depends on the seed and on what a prompt says apart from time and money left."""
        digest = hashlib.sha256("\0".join(m.content for m in messages).encode("utf-8", "replace")).hexdigest()
        return random.Random(f"{self._seed}:{digest}")  # noqa: S311 - for variety, not for secrets


def _reply(prompt: Prompt[Any], rng: random.Random) -> str:
    match prompt:
        case AnalyzePost():
            return posts.analysis(prompt)
        case ProposeIdeas():
            return planning.ideas(prompt)
        case PlanDrafts():
            return planning.drafts(prompt, rng)
        case WriteScript():
            return coding.reply(prompt, rng)
        case ReviewRun():
            return reporting.review(prompt)
        case WriteReport():
            return reporting.report(prompt)
    raise ModelRefused(f"the built-in model has no rule for the prompt {prompt.name!r}")


def _tokens(text: str) -> int:
    """Return an estimate: four characters a token."""
    return -(-len(text) // _CHARACTERS_A_TOKEN)
