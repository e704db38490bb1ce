"""Faults of the site, by a script; every injected fault is recorded."""

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, model_validator

from scrapers.snapshots.fields import UtcTime, sentences
from state.closed_model import ClosedModel
from state.errors import UsageError

Kind = Literal[
    "rate-limit",
    "internal-error",
    "unavailable",
    "stall",
    "cut",
    "html",
    "null-field",
    "kernel-error",
    "submission-hidden",
    "token-expired",
    "rules-changed",
    "closed-early",
    "data-changed",
    "unstable-lists",
    "datasets-fail",
    "sessions-fail",
]
TRANSIENT = frozenset(("token-expired", "datasets-fail", "sessions-fail"))
"""States of the site that last for `for_seconds`."""
LASTING = frozenset(
    ("submission-hidden", "rules-changed", "closed-early", "data-changed", "unstable-lists", *TRANSIENT)
)
"""Kinds that are a lasting state of the site, rather than the fault of one request."""
OF_A_COMPETITION = frozenset(("rules-changed", "closed-early", "data-changed", "unstable-lists"))
"""Kinds that are a state of competitions, of all or of one."""


class Fault(ClosedModel):
    """One fault: its kind, the requests it affects, and when.

    Times are by the site's clock, except for a stall's. A lasting state of the site (`submission-hidden`,
    `token-expired`, `rules-changed`, `closed-early`, `data-changed`, `unstable-lists`, `datasets-fail`, `sessions-fail`)
    begins with `at` or `after` if one is given, else with the first request that matches; any other fault affects the
    requests that match.
    """

    kind: Kind
    method: str = "*"
    """A pattern for the last part of a method's name, such as `List*`; `PUT upload` and `GET storage` are methods too."""
    competition: str | None = None
    """Slug of the competition whose state this is; None: all. No other kind has one."""
    at: UtcTime | None = None
    """Not before this time."""
    after: Annotated[float, Field(ge=0)] | None = None
    """Not before this many seconds from the start of the site."""
    skip: Annotated[int, Field(ge=0)] = 0
    """How many matching requests pass before it."""
    every: Annotated[int, Field(ge=1)] = 1
    """Of the matching requests after those, it affects the first and every so manieth from there."""
    count: Annotated[int, Field(ge=0)] = 1
    """How many requests it affects; 0: all."""
    for_seconds: Annotated[float, Field(ge=0)] = 60.0
    """How long a rate limit, an expired token or failing data sets and runs last, and a new submission is hidden."""
    acts: bool = False
    """Whether the request is carried out before its answer goes wrong, so that the client cannot know."""
    seconds: Annotated[float, Field(ge=0)] = 30.0
    """Real seconds that a stall lasts; the request is then answered."""
    retry_after: Literal["none", "honest", "lying"] = "honest"
    """Whether a rate limit announces how long it lasts, or a far too short time."""
    plain_text: bool = False
    """Whether a rate limit answers with plain text instead of JSON."""

    @model_validator(mode="after")
    def _names_a_competition_where_it_may(self) -> Self:
        if self.competition is not None and self.kind not in OF_A_COMPETITION:
            raise ValueError(f"a fault of kind {self.kind} affects the whole site: remove `competition`")
        return self


@dataclass(frozen=True)
class Injected:
    """A fault that was injected."""

    at: datetime
    method: str
    kind: Kind
    acts: bool


class FaultFile(ClosedModel):
    """A file of faults: `[[fault]]` tables."""

    fault: tuple[Fault, ...] = ()


class Faults:
    """Decides which fault, if any, affects each request."""

    def __init__(self, script: Sequence[Fault] = ()) -> None:
        """Set them up; of a script the first fault that matches a request affects it."""
        self.injected: list[Injected] = []
        self._script = tuple(script)
        self._seen: Counter[int] = Counter()
        self._hit: Counter[int] = Counter()
        self._limits: list[tuple[Fault, datetime]] = []
        self._begun: dict[int, datetime] = {}
        self._start = datetime.min.replace(tzinfo=UTC)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file of faults.

        Raises UsageError: the file cannot be read, or holds an unknown or wrong key; the text names each.
        """
        try:
            faults = FaultFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise UsageError(f"{path} cannot be read: {error}") from error
        except ValidationError as error:
            raise UsageError(f"{path}: {'; '.join(sentences(error))}") from None
        return cls(faults.fault)

    def begin(self, start: datetime) -> None:
        """Set when the site began, which `after` counts from."""
        self._start = start

    def draw(self, method: str, now: datetime) -> Fault | None:
        """Return the fault of a request, if there is one, and record it."""
        fault = self._limited(method, now) or self._scripted(method, now)
        if fault is None:
            return None
        self.injected.append(Injected(now, method, fault.kind, fault.acts))
        if fault.kind == "rate-limit" and not any(limit is fault for limit, _ in self._limits):
            self._limits.append((fault, now + timedelta(seconds=fault.for_seconds)))
        return fault

    def competitions(self) -> set[str]:
        """Return the slugs of all competitions that the script names."""
        return {fault.competition for fault in self._script if fault.competition is not None}

    def since(self, kind: Kind, now: datetime, competition: str | None = None) -> datetime | None:
        """Return since when a lasting state, perhaps of a competition by its slug, holds; None if it does not hold now."""
        starts = [start for fault, start in self._lasting(kind, now) if fault.competition in (None, competition)]
        return min(starts, default=None)

    def hidden_seconds(self, now: datetime) -> float:
        """Return for how long a new submission is hidden from GetSubmission."""
        return max((fault.for_seconds for fault, _ in self._lasting("submission-hidden", now)), default=0.0)

    def note(self, method: str, kind: Kind, now: datetime) -> None:
        """Record that a lasting state changed an answer."""
        self.injected.append(Injected(now, method, kind, acts=False))

    def remaining(self, fault: Fault, now: datetime) -> float:
        """Return the seconds for which a rate limit still lasts."""
        end = next((end for limit, end in self._limits if limit is fault), now)
        return max(0.0, (end - now).total_seconds())

    def _due(self, fault: Fault) -> datetime:
        after = self._start + timedelta(seconds=fault.after or 0.0)
        return after if fault.at is None else max(after, fault.at)

    def _lasting(self, kind: Kind, now: datetime) -> Iterator[tuple[Fault, datetime]]:
        for number, fault in enumerate(self._script):
            timed = fault.at is not None or fault.after is not None
            start = self._due(fault) if timed else self._begun.get(number)
            if fault.kind != kind or start is None or now < start:
                continue
            if kind not in TRANSIENT or now < start + timedelta(seconds=fault.for_seconds):
                yield fault, start

    def _limited(self, method: str, now: datetime) -> Fault | None:
        self._limits = [(fault, end) for fault, end in self._limits if now < end]
        return next((fault for fault, _ in self._limits if fnmatchcase(method, fault.method)), None)

    def _scripted(self, method: str, now: datetime) -> Fault | None:
        for number, fault in enumerate(self._script):
            if not fnmatchcase(method, fault.method) or now < self._due(fault) or number in self._begun:
                continue
            self._seen[number] += 1
            turn = self._seen[number] - fault.skip - 1
            if turn < 0 or turn % fault.every or (fault.count and self._hit[number] >= fault.count):
                continue
            self._hit[number] += 1
            if fault.kind in LASTING:
                self._begun[number] = now
                continue
            return fault
        return None
