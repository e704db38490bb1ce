"""The coder: turns a draft into scripts, and nothing but scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bot.coder.description import shown_description
from bot.models import Item
from scrapers.card import TaskCard

__all__ = [
    "Attempt",
    "Brief",
    "CoderBudget",
    "DraftLeft",
    "Machine",
    "OwnerNote",
    "Result",
    "Script",
    "ScriptAction",
    "TaskText",
]

ScriptAction = Literal["draft", "debug", "improve"]


@dataclass(frozen=True)
class OwnerNote:
    """A note from the owner about a competition: trusted, as nothing else in a prompt is."""

    item: Item
    """`note/<id>`, with the time at which it was left."""
    text: str


@dataclass(frozen=True)
class TaskText:
    """What a prompt says of the task."""

    title: str
    description: str
    metric: str
    direction: str
    id_column: str
    prediction_columns: tuple[str, ...]
    submission_file: str
    notes: tuple[OwnerNote, ...] = ()
    """The owner's, oldest first."""
    self_reported: bool = False
    """Whether the score is what the script prints, as no labels can be withheld."""
    key_columns: tuple[str, ...] = ()
    """Further columns that say, with the id, which row is meant."""

    def items(self) -> tuple[Item, ...]:
        """Return the dated things in it, for a prompt's own list."""
        return tuple(note.item for note in self.notes)

    @classmethod
    def from_card(cls, card: TaskCard, notes: Sequence[OwnerNote] = (), *, self_reported: bool = False) -> "TaskText":
        """Take the task card's words, of the description what can matter for a score, and the owner's."""
        return cls(
            title=card.title,
            description=shown_description(card.description),
            metric=card.metric.name,
            direction=card.metric.direction,
            id_column=card.id_column,
            key_columns=card.key_columns,
            prediction_columns=card.prediction_columns,
            submission_file=card.submission_file,
            notes=tuple(notes),
            self_reported=self_reported,
        )


@dataclass(frozen=True)
class Machine:
    """What a script runs on."""

    python: str
    cpus: int
    memory_gib: float
    gpus: int
    packages: tuple[str, ...]
    """`name version` of each installed package worth knowing."""
    weights: tuple[str, ...] = ()
    """Pretrained weights in the script's folder `weights/`: what each is, and a line that loads it."""
    gpu_models: tuple[str, ...] = ()
    """Name and memory of the GPUs that a script may be lent."""
    disk_gb: float = 2.0
    """What a script may write."""
    surprises: tuple[str, ...] = ()
    """What the packages' versions do otherwise than most code expects, a sentence each."""

    def describe(self) -> str:
        """Say what it is, as a prompt does."""
        models = f" ({' or '.join(self.gpu_models)})" if self.gpu_models else ""
        gpus = f"{self.gpus} GPU{'s' if self.gpus != 1 else ''}{models}" if self.gpus else "no GPU"
        cores = f"{self.cpus} CPU{'s' if self.cpus != 1 else ''}"
        return (
            f"Python {self.python}, {cores}, {self.memory_gib:.0f} GiB of memory, {self.disk_gb:.0f} GB of disk, {gpus}. "
            f"Installed: {', '.join(self.packages)}."
        )


@dataclass(frozen=True)
class Attempt:
    """A script that was run, and what came of it: the coder's feedback."""

    node: int
    action: str
    plan: str
    code: str
    score: float | None
    """The evaluator's score on the hold-out view, or None."""
    error: str | None
    """One sentence: exit reason, or what the validator said, with the view that it was on."""
    output: str
    """Cleaned and capped output, the error that matters first."""
    seconds: float
    """Of the script's last run alone."""
    noise: float | None = None
    """Standard error of the score; None where it is not known."""
    gain: float | None = None
    """Paired difference of the score to that of the script it builds on, above 0 where it is better; None: unknown."""
    gain_error: float | None = None
    """Standard error of `gain`."""
    findings: tuple[str, ...] = ()
    """What guards found in the run, a sentence each."""


@dataclass(frozen=True)
class Result:
    """One line of the table of a run's results."""

    node: int
    action: str
    title: str
    """Of its draft, or the first line of its plan."""
    parents: tuple[int, ...]
    score: float | None
    noise: float | None
    gain: float | None
    gain_error: float | None
    seconds: float
    """Of its script alone."""
    error: str | None


@dataclass(frozen=True)
class Brief:
    """All that a coder knows: task, draft, preview and machine; never the pools."""

    task: TaskText
    preview: str
    machine: Machine
    title: str
    draft: str
    codebase: str | None = None
    """Source of the script that the draft builds on, if any."""
    earlier: str = ""
    """What a strategy without drafts of its own says of earlier solutions, so that the next one differs; else empty."""
    results: tuple[Result, ...] = ()
    """What the run has scored so far, in the order of its nodes."""


@dataclass(frozen=True)
class DraftLeft:
    """What is left of a draft: it closes when any of these is used up."""

    scripts: int
    seconds: float | None
    """Of writing and running its scripts; None where the budget is counted in scripts."""
    gainless: int
    """Scored scripts in a row without a better score than the draft's best."""
    failed: int
    """Scripts in a row without a score."""

    @property
    def is_over(self) -> bool:
        """Whether the draft is closed."""
        used_up = self.seconds is not None and self.seconds <= 0
        return used_up or self.scripts <= 0 or self.gainless <= 0 or self.failed <= 0


@dataclass(frozen=True)
class CoderBudget:
    """What is left to a coder when it writes the next script, which none of these counts yet."""

    execution_seconds: float
    """Time limit of the script's scored run, however long the answer takes."""
    seconds_left: float
    """Of the run, for all that is still to be done."""
    scripts_left: int | None = None
    """Of the run; None where nothing but time ends it."""
    draft: DraftLeft | None = None
    """None where a script belongs to no draft."""
    debug_seconds: float | None = None
    """Time limit of the run on a sample that comes first; None where there is none."""


@dataclass(frozen=True)
class Script:
    """One script to run and score, and the plan behind it."""

    plan: str
    code: str
    action: ScriptAction
