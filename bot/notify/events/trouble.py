"""Trouble that needs a person: the bot can do nothing about it, so it is told in quiet hours too."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from bot.notify.events.base import Event
from state.words import iso

__all__ = [
    "DiskLow",
    "DockerGone",
    "GpuGone",
    "GraderUnusable",
    "RulesNotAccepted",
    "TaskCardIncomplete",
    "TokenRefused",
    "WorkBroken",
]


@dataclass(frozen=True)
class RulesNotAccepted(Event):
    """Somebody must accept a competition's rules on the website."""

    kind: ClassVar[str] = "trouble.rules"
    template: ClassVar[str] = "rules_not_accepted.j2"
    urgent: ClassVar[bool] = True

    competition: str
    url: str
    rules_sha: str | None = None
    """Of the rules page, hex; None: it could not be read. Rules that changed are told anew."""

    @property
    def key(self) -> str:
        """One a version of the rules."""
        return f"trouble/rules/{self.competition}/{self.rules_sha or 'unread'}"


@dataclass(frozen=True)
class TaskCardIncomplete(Event):
    """What the pages say of the task does not agree or is not all there: the owner writes the missing lines."""

    kind: ClassVar[str] = "trouble.card"
    template: ClassVar[str] = "task_card_incomplete.j2"
    urgent: ClassVar[bool] = True

    competition: str
    file: str
    """Where the lines go."""
    lines: tuple[str, ...]
    """Exactly as they are to be written, each with what is to be decided."""

    @property
    def key(self) -> str:
        """One a set of lines."""
        digest = hashlib.sha256("\n".join(self.lines).encode()).hexdigest()[:12]
        return f"trouble/card/{self.competition}/{digest}"


@dataclass(frozen=True)
class GraderUnusable(Event):
    """The file that the owner wants scores from cannot give any."""

    kind: ClassVar[str] = "trouble.grader"
    template: ClassVar[str] = "grader_unusable.j2"
    urgent: ClassVar[bool] = True

    competition: str
    why: str
    """A sentence that names the file."""

    @property
    def key(self) -> str:
        """One a thing that is wrong."""
        return f"trouble/grader/{self.competition}/{hashlib.sha256(self.why.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class _Since(Event):
    urgent: ClassVar[bool] = True

    since: datetime
    """When it began: the same trouble is told once."""


@dataclass(frozen=True)
class WorkBroken(_Since):
    """Something keeps the bot from its work, and no other event says what to do about it."""

    kind: ClassVar[str] = "trouble.work"
    template: ClassVar[str] = "work_broken.j2"

    of: str
    """A competition, or `bot.toml`."""
    why: str

    @property
    def key(self) -> str:
        """One a time that it began."""
        return f"trouble/work/{self.of}/{iso(self.since)}"


@dataclass(frozen=True)
class TokenRefused(_Since):
    """Kaggle does not take the token."""

    kind: ClassVar[str] = "trouble.token"
    template: ClassVar[str] = "token_refused.j2"

    source: str
    """Where the token was found, never the token."""

    @property
    def key(self) -> str:
        """One a time that it began."""
        return f"trouble/token/{iso(self.since)}"


@dataclass(frozen=True)
class DiskLow(_Since):
    """There is no room for another run."""

    kind: ClassVar[str] = "trouble.disk"
    template: ClassVar[str] = "disk_low.j2"

    folder: str
    free_gb: float
    wanted_gb: float

    @property
    def key(self) -> str:
        """One a folder and time that it began."""
        return f"trouble/disk/{self.folder}/{iso(self.since)}"


@dataclass(frozen=True)
class DockerGone(_Since):
    """The Docker engine does not answer, so that nothing can be run."""

    kind: ClassVar[str] = "trouble.docker"
    template: ClassVar[str] = "docker_gone.j2"

    reason: str

    @property
    def key(self) -> str:
        """One a time that it began."""
        return f"trouble/docker/{iso(self.since)}"


@dataclass(frozen=True)
class GpuGone(_Since):
    """A GPU is no longer there, or fails."""

    kind: ClassVar[str] = "trouble.gpu"
    template: ClassVar[str] = "gpu_gone.j2"

    gpu: str
    """Its name or number."""
    reason: str

    @property
    def key(self) -> str:
        """One a GPU and time that it began."""
        return f"trouble/gpu/{self.gpu}/{iso(self.since)}"
