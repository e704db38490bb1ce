"""Every error of ours that a person or a caller may act on; its text is one clear sentence."""

from collections.abc import Sequence
from dataclasses import dataclass


class BotError(Exception):
    """Base of our errors: its text says what is wrong and, where it can, what to do."""


class UsageError(BotError):
    """Wrong use or configuration: the command exits with status 2."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a snapshot: the file (relative), the line (from 1) if there is one, and a sentence."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class SnapshotError(BotError):
    """A snapshot that breaks its format; `problems` holds all of what is wrong."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class InvalidSubmission(BotError):
    """A submission file that cannot be scored, with row and column where there is one."""


class UnsupportedLayout(BotError):
    """A competition's data that the view builder cannot split."""


class InfrastructureFailure(BotError):
    """The engine's own failure (sandbox, worker, disk), never that of the code it ran."""


class DownloadFailed(BotError):
    """A file that could not be fetched, or is not what it must be."""


class Unparsable(BotError):
    """A model's reply that a prompt cannot read; the text says what to repair."""

    reply: object | None = None
    """Set by the model that got the reply: its text and cost, so that it is charged all the same."""


class ModelError(BotError):
    """A model call that failed; subclasses say what may be done about it."""


class ModelUnavailable(ModelError):
    """Rate limit, time-out, server error or lost connection: the same call may succeed later."""


class ModelRefused(ModelError):
    """The model or endpoint will not answer this prompt (content filter, too long, empty): give this call up."""

    reply: object | None = None
    """As of Unparsable: what came back, where that is to be charged."""


class EmptyAnswer(ModelRefused):
    """What came back, and was charged, holds no text: another model may have more to say."""


class ModelMisconfigured(ModelError):
    """Wrong key, wrong model name, no credit: no call will succeed; stop the run."""


class BudgetExceeded(BotError):
    """A cap (time, money, steps) is reached: end the work in order."""
