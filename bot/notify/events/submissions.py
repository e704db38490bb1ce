"""What became of submissions, and what waits for the owner's word before it goes out."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from bot.notify.events.base import Event
from state.words import iso

__all__ = [
    "ApprovalAsked",
    "Choice",
    "FinalSelectionProposed",
    "ScoresDisagree",
    "SubmissionFailed",
    "SubmissionRefused",
    "SubmissionScored",
]


@dataclass(frozen=True)
class _OfSubmission(Event):
    competition: str
    tag: str
    """What the submission is found by at the site."""
    node: int

    @property
    def key(self) -> str:
        """One a submission and kind."""
        return f"{self.kind.replace('.', '/')}/{self.tag}"


@dataclass(frozen=True)
class SubmissionScored(_OfSubmission):
    """The site gave a public score."""

    kind: ClassVar[str] = "submission.scored"
    template: ClassVar[str] = "submission_scored.j2"

    public_score: float
    validation_score: float | None
    rank: int | None = None


@dataclass(frozen=True)
class SubmissionFailed(_OfSubmission):
    """The submission may not have arrived, or was given up."""

    kind: ClassVar[str] = "submission.failed"
    template: ClassVar[str] = "submission_failed.j2"

    reason: str


@dataclass(frozen=True)
class SubmissionRefused(_OfSubmission):
    """The site will not take the file."""

    kind: ClassVar[str] = "submission.refused"
    template: ClassVar[str] = "submission_refused.j2"

    words: str
    """The site's own."""


@dataclass(frozen=True)
class ApprovalAsked(_OfSubmission):
    """A submission is held until the owner lets it go."""

    kind: ClassVar[str] = "approval.asked"
    template: ClassVar[str] = "approval_asked.j2"

    id: str
    """By which it is approved."""
    validation_score: float | None
    why: str


@dataclass(frozen=True)
class Choice:
    """One submission that is to count in the end."""

    tag: str
    node: int
    public_score: float | None
    validation_score: float | None


@dataclass(frozen=True)
class FinalSelectionProposed(Event):
    """Which submissions should count; a person selects them on the website."""

    kind: ClassVar[str] = "selection.proposed"
    template: ClassVar[str] = "final_selection.j2"

    competition: str
    choices: tuple[Choice, ...]
    deadline: datetime
    url: str

    @property
    def key(self) -> str:
        """One a proposal: another choice is told anew, other scores of the same are not."""
        chosen = "\n".join(sorted(choice.tag for choice in self.choices))
        digest = hashlib.sha256(chosen.encode()).hexdigest()[:12]
        return f"selection/{self.competition}/{iso(self.deadline)}/{digest}"


@dataclass(frozen=True)
class ScoresDisagree(Event):
    """Validation scores are no guide to public ones any more."""

    kind: ClassVar[str] = "submission.disagree"
    template: ClassVar[str] = "scores_disagree.j2"

    competition: str
    run: str
    pairs: int
    """Submissions with both scores."""
    why: str

    @property
    def key(self) -> str:
        """One a run."""
        return f"submission/disagree/{self.run}"
