"""Models: typed prompts, the models that answer them, and an answer's tokens and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, Protocol, TypeVar

__all__ = ["CallLimits", "Completion", "Item", "Message", "Model", "Prompt", "Totals", "Usage"]

AnswerT = TypeVar("AnswerT")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)


@dataclass(frozen=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Item:
    """A dated part of a prompt: its id (`message/233009`, `kernel/17`, `node/4`) and since when it is known."""

    id: str
    time: datetime


@dataclass(frozen=True)
class Usage:
    """Tokens of one call."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Tokens of the prompt that the endpoint had cached."""

    @property
    def new_tokens(self) -> int:
        """Tokens that were sent and not cached, and those that were received."""
        return self.prompt_tokens - self.cached_tokens + self.completion_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
        )


@dataclass(frozen=True)
class Totals:
    """Tokens and cost of a run's calls, also before a resume; `cost_usd` is None if any price is unknown."""

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    new_tokens: int = 0
    """Tokens that were sent and not cached, and those that were received: a cap on tokens counts these."""
    cost_usd: float | None = None


@dataclass(frozen=True)
class CallLimits:
    """Bounds of one call."""

    seconds: float = 3600.0
    """Of all tries together. Endpoints that do not answer are given up earlier, by how long they are silent."""
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
        """Read a reply; raises Unparsable, which names what to repair."""
        ...

    def items(self) -> Sequence[Item]:
        """Return the posts that the text contains, and items derived from posts, with their times."""
        ...


@dataclass(frozen=True)
class Completion(Generic[AnswerT]):
    """A parsed answer with its text, tokens and cost; `cost_usd` is None if the price is unknown."""

    answer: AnswerT
    text: str
    usage: Usage
    model: str
    cost_usd: float | None = None
    cut: bool = False
    """Whether the text reached the token limit; only a prompt with a tool accepts such a text."""


class Model(Protocol):
    """Answers prompts."""

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt.

        Raises:
            Unparsable: the reply cannot be read; carries `.reply` (text, usage, model, cost) so that it is charged.
            ModelUnavailable: retries within this call were used up; a BrokenOff carries `.reply`, too.
            ModelRefused: this prompt will not be answered.
            ModelMisconfigured: no prompt will be answered.
        """
        ...
