"""Our errors that a person or a caller may act on; the text of each is one clear sentence."""

from collections.abc import Sequence
from dataclasses import dataclass


class BotError(Exception):
    """Base of our errors: its text states what is wrong and, where possible, what to do."""


class UsageError(BotError):
    """Wrong use or configuration: the command exits with status 2."""


@dataclass(frozen=True)
class Problem:
    """One fault of a file: its name (in a snapshot relative to it), the line (from 1) if there is one, and a sentence."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.message}"


class FileProblems(BotError):
    """Files that break their format; `problems` holds every fault."""

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
        """Compose the sentence of the exception's class (or a whole sentence), its text, and its line in grade.py."""
        self.kind = kind
        self.line = line
        place = "" if line is None else f" (grade.py, line {line})"
        super().__init__(f"The grader failed with {kind}{place}: {words}" if words or place else kind)


class UnsupportedLayout(BotError):
    """A competition's data that the view builder cannot split."""


class NoBlend(BotError):
    """Predictions that cannot be blended; the text says why."""


class UnsupportedKernel(BotError):
    """A public kernel that cannot run here; the text says why."""


class InfrastructureFailure(BotError):
    """The engine's own failure (sandbox, worker, disk), never that of the code it ran."""


class GraderStopped(InfrastructureFailure):
    """A competition's grade.py exceeded its time or memory, or its process ended; no verdict on the submission."""


class DownloadFailed(BotError):
    """A file that could not be fetched, or is not the expected one."""


class NoRoom(DownloadFailed):
    """A file, or its unpacked content, does not fit on the disk; there may be room later."""


class SubmissionRefused(BotError):
    """The site will not take this file; the text is the site's own, and the same file is not sent again."""


class SiteUnavailable(BotError):
    """The site gave no reliable answer; what was asked of it may or may not have happened."""


class SubmissionInDoubt(BotError):
    """A submission may have been sent, and the site could not confirm it; nothing was sent again."""


class NotSent(BotError):
    """A submission was given up before it counted at the site; it may be sent later.

    `refused`: the site's own answer is the reason, so that somebody may have to act.
    """

    def __init__(self, sentence: str, *, refused: bool = False) -> None:
        self.refused = refused
        super().__init__(sentence)


class QuotaReached(NotSent):
    """The site takes no submission now; nothing was sent."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence, refused=True)


class FileChanged(BotError):
    """A file is not the one that was to be sent; nothing was sent."""


class NotificationFailed(BotError):
    """A notification may not have reached anybody; it is sent again later."""


class Unparsable(BotError):
    """A model's reply that cannot be parsed; the text states what to repair."""

    reply: object | None = None
    """Set by the model that got the reply: its text and cost, so that it is charged nevertheless."""


class TruncatedAnswer(Unparsable):
    """An answer cut off at the length limit of the call or of the model."""


class ModelError(BotError):
    """A model call failed; the subclass decides what may be done about it."""

    reply: object | None = None
    """As in Unparsable: what came, if it is to be charged."""


class ModelUnavailable(ModelError):
    """Rate limit, time-out, server error or lost connection: the same call may succeed later."""


class EndpointBusy(ModelUnavailable):
    """The endpoint takes no request now: a rate limit, or too much to do."""


class EndpointSilent(ModelUnavailable):
    """Nothing of an answer came in time. The endpoint may still be writing it, so the request is not sent again at once."""


class BrokenOff(ModelUnavailable):
    """A streamed answer broke off midway; what came was probably charged, and its tokens are estimated."""


class ModelRefused(ModelError):
    """The model or endpoint will not answer this prompt (content filter, too long, empty): give this call up."""


class EmptyAnswer(ModelRefused):
    """The answer was charged but holds no text: another model may give one."""


class ModelMisconfigured(ModelError):
    """Wrong key, wrong model name, no credit: no call will succeed; stop the run."""


class ModelUseless(ModelError):
    """Too many answers in a row could not be used: the model is asked nothing more in this run."""


class Interrupted(BotError):
    """A person asked to stop before the work was done; a resume finishes it."""


class BudgetExceeded(BotError):
    """A cap (time, money, steps) is reached: end the work in an orderly way.

    `renews`: the cap is a daily one, and the next day has room again.
    """

    def __init__(self, sentence: str, *, renews: bool = False) -> None:
        self.renews = renews
        super().__init__(sentence)


class StateUnavailable(InfrastructureFailure):
    """The database cannot be used now (locked, disk full, no descriptors): nothing was written; try again later."""


class StateCorrupted(BotError):
    """The database is damaged; the text states what is damaged and how to put a backup back."""


class DataChanged(BotError):
    """A competition's data has changed here since it was fetched; nothing was mixed, and nothing removed."""


class KaggleError(BotError):
    """Kaggle refuses a request, and would refuse it again; the text quotes its answer."""

    status: int | None = None
    """The HTTP status of the answer, where there was one."""
    body: str = ""
    """The answer as it came, cut."""


class NotAuthenticated(KaggleError):
    """Kaggle does not know the token, or it has expired: a person must provide another, and no further call is made."""


class Forbidden(KaggleError):
    """Kaggle does not allow this user what was asked, for the reason that it gives."""


class NotEntered(Forbidden):
    """A person must enter the competition and accept its rules on the website; a wrong name gets the same answer."""


class NotFound(KaggleError):
    """Kaggle has nothing of this name."""


class UnknownAnswer(KaggleError):
    """Kaggle's answer is not what its interface promises."""


class NotebooksOnly(SubmissionRefused):
    """The competition takes notebooks, not files."""


class RateLimited(SiteUnavailable):
    """Too many requests were made to the site, or would be; nothing was done."""

    wait: float = 0.0
    """Seconds after which to ask again, as far as is known."""


class Retry(BotError):
    """A task is to be tried again later, for a reason that is no failure of the bot's."""

    def __init__(self, seconds: float, reason: str = "", *, counted: bool = True) -> None:
        """Set the pause in the bot's seconds, and whether this try counts towards the number of tries of a task."""
        self.seconds = seconds
        self.counted = counted
        super().__init__(reason or f"try again after {seconds:g} s")


class KeepsFailing(BotError):
    """A part of the daemon fails at every start: the process ends, and its supervisor starts it again."""
