"""Models: typed prompts, who answers them, and what an answer costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar

__all__ = ["CallLimits", "Completion", "Item", "Message", "Model", "Prompt", "Usage"]

AnswerT = TypeVar("AnswerT")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)


@dataclass(frozen=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Item:
    """Something that a prompt contains: its id (`message/233009`, `kernel/17`, `node/4`) and since when it is known."""

    id: str
    time: datetime


@dataclass(frozen=True)
class Usage:
    """Tokens of one call."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Those of the prompt that the endpoint had read before."""

    @property
    def new_tokens(self) -> int:
        """What was sent and not cached, and what was received."""
        return self.prompt_tokens - self.cached_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        """Return the tokens of both."""
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True)
class CallLimits:
    """Bounds of one call."""

    seconds: float = 600.0
    max_tokens: int | None = None


class Prompt(Protocol[AnswerT_co]):
    """A typed question: a frozen dataclass with a Jinja file beside it.

    `name` is the prompt's name, such as `write_script`; the built-in model chooses its rule by it.
    """

    @property
    def name(self) -> str:
        """The prompt's name."""
        ...

    def messages(self) -> Sequence[Message]:
        """Render the whole conversation to send."""
        ...

    def parse(self, text: str) -> AnswerT_co:
        """Read a reply; raises Unparsable with what to repair."""
        ...

    def items(self) -> Sequence[Item]:
        """Return the community posts and derived things that the text contains, with their times."""
        ...


@dataclass(frozen=True)
class Completion(Generic[AnswerT]):
    """A parsed answer, the text it came in, and what it took; `cost_usd` None means unknown price."""

    answer: AnswerT
    text: str
    usage: Usage
    model: str
    cost_usd: float | None = None
    cut: bool = False
    """Whether the text ended at its longest length: that of a prompt with a tool is handed on all the same."""


class Model(Protocol):
    """Answers prompts."""

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt.

        Raises:
            Unparsable: the reply cannot be read; carries `.reply` (text, usage, model, cost) so that it is charged.
            ModelUnavailable: retries within this call were used up.
            ModelRefused: this prompt will not be answered.
            ModelMisconfigured: no prompt will be answered.
        """
        ...
