"""Every error of ours that a person or a caller may act on; its text is one clear sentence."""

from collections.abc import Sequence
from dataclasses import dataclass


class BotError(Exception):
    """Base of our errors: its text says what is wrong and, where it can, what to do."""


class UsageError(BotError):
    """Wrong use or configuration: the command exits with status 2."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a file: which (relative, of a snapshot), the line (from 1) if there is one, and a sentence."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class FileProblems(BotError):
    """Files that break their format; `problems` holds all of what is wrong."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class ConfigurationError(FileProblems, UsageError):
    """A bot.toml that is wrong."""


class SnapshotError(FileProblems):
    """A snapshot that breaks its format."""


class InvalidSubmission(BotError):
    """A submission file that cannot be scored, with row and column where there is one."""


class GraderFailed(InvalidSubmission):
    """A competition's grade.py failed on a submission without refusing it: no score, as in MLE-bench."""

    def __init__(self, kind: str, words: str = "", line: int | None = None) -> None:
        """Say how.

        Args:
            kind: name of the exception's class, or the whole sentence.
            words: the exception's own text.
            line: of grade.py, where it is known.
        """
        self.kind = kind
        self.line = line
        where = "" if line is None else f" (grade.py, line {line})"
        super().__init__(f"The grader failed with {kind}{where}: {words}" if words or where else kind)


class UnsupportedLayout(BotError):
    """A competition's data that the view builder cannot split."""


class InfrastructureFailure(BotError):
    """The engine's own failure (sandbox, worker, disk), never that of the code it ran."""


class GraderStopped(InfrastructureFailure):
    """A competition's grade.py took more time or memory than it may, or its process ended; says nothing of the submission."""


class DownloadFailed(BotError):
    """A file that could not be fetched, or is not what it must be."""


class NoRoom(DownloadFailed):
    """A file, or what it unpacks to, does not fit on the disk; there may be room later."""


class SubmissionRefused(BotError):
    """The site will not take this file: its own words; the same file is not sent again."""


class SiteUnavailable(BotError):
    """The site gave no answer that can be relied on; an act that ended so may or may not have happened."""


class SubmissionInDoubt(BotError):
    """A submission may have been sent, and the site could not say; nothing was sent again."""


class NotSent(BotError):
    """A submission was given up before anything of it counted; it may be sent later."""


class QuotaReached(NotSent):
    """The site takes no submission now; nothing was sent."""


class FileChanged(BotError):
    """A file is not the one that was to be sent; nothing was sent."""


class NotificationFailed(BotError):
    """A notification that may not have reached anybody; it is sent again later."""


class Unparsable(BotError):
    """A model's reply that a prompt cannot read; the text says what to repair."""

    reply: object | None = None
    """Set by the model that got the reply: its text and cost, so that it is charged all the same."""


class CutOff(Unparsable):
    """An answer that ended at the longest length that was allowed, or that its model writes."""


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


class Interrupted(BotError):
    """Somebody asked to stop, and something is left to be done by a resume."""


class BudgetExceeded(BotError):
    """A cap (time, money, steps) is reached: end the work in order.

    `renews`: it is that of a day, and another day has room again.
    """

    def __init__(self, sentence: str, *, renews: bool = False) -> None:
        self.renews = renews
        super().__init__(sentence)


class StateUnavailable(InfrastructureFailure):
    """The database cannot be used now (locked, disk full, no descriptors): nothing was written; later it may be."""


class StateCorrupted(BotError):
    """The database is damaged; the text says what is damaged and which command restores it."""


class DataChanged(BotError):
    """A competition's data is not as it was fetched, here or at the site; nothing was mixed, and nothing removed."""


class KaggleError(BotError):
    """Kaggle will not do what was asked, and will not when asked again; the text holds its own words."""

    status: int | None = None
    """The HTTP status of the answer, where there was one."""


class NotAuthenticated(KaggleError):
    """Kaggle does not know the token, or it has expired: a person must give another, so no call is made any more."""


class NotEntered(KaggleError):
    """A person must enter the competition and accept its rules on the website; Kaggle says the same of a wrong name."""


class NotFound(KaggleError):
    """Kaggle has nothing of this name."""


class UnknownAnswer(KaggleError):
    """Kaggle's answer is not what its interface promises."""


class NotebooksOnly(SubmissionRefused):
    """The competition takes notebooks, not files."""


class RateLimited(SiteUnavailable):
    """The site is asked too often, or would be; nothing was done."""

    wait: float = 0.0
    """Seconds after which it may be asked again, as far as anybody knows."""


class Retry(BotError):
    """A task that is to be tried again later, for a reason that is no failure of the bot's."""

    def __init__(self, seconds: float, why: str = "", *, counted: bool = True) -> None:
        """Say when.

        Args:
            seconds: after how many, by the bot's clock.
            why: one sentence.
            counted: whether it is one of the tries after which a task is given up.
        """
        self.seconds = seconds
        self.counted = counted
        super().__init__(why or f"it is to be tried again after {seconds:g} s")


class KeepsFailing(BotError):
    """A part of the daemon fails whenever it is started: the process ends, and whoever supervises it starts it anew."""
