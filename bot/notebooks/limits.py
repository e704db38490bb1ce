"""The limits of a competition's notebooks."""

from dataclasses import dataclass
from pathlib import Path

SHARE = 0.6
"""Share of a competition's time limit that a notebook may take, as reckoned here: Kaggle's machines are others."""
HIDDEN = 10
"""Hidden test rows over those that are published, where nobody knows better."""


@dataclass(frozen=True)
class NotebookLimits:
    """What a competition allows its notebooks."""

    hours: float = 9.0
    """The time limit of a rerun."""
    accelerator: str | None = None
    """Such as `NvidiaTeslaT4`; None: no GPU."""
    rows: int | None = None
    """Hidden test rows to reckon with; None: `HIDDEN` times those of the sample submission."""
    image: str | None = None
    """The Docker image that is asked for; None: Kaggle's latest."""
    wheels: Path | None = None
    """A folder of wheels that its notebooks bring along; None: they bring none."""

    def hidden(self, shown_rows: int) -> int:
        """Return the rows of the hidden test set to reckon with, by those of the sample submission that is published."""
        return self.rows or HIDDEN * shown_rows

    @property
    def hidden_words(self) -> str:
        """The rows of the hidden test set to reckon with, in words."""
        return f"{self.rows:,} rows" if self.rows else f"{HIDDEN} times as many rows as the sample submission"

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of its wheels, such as `lightgbm 4.6.0`; none where their folder is missing."""
        names = () if self.wheels is None else sorted(path.name for path in self.wheels.glob("*.whl"))
        return tuple(" ".join(name.split("-")[:2]) for name in names)

    @property
    def seconds(self) -> float:
        """Seconds that a notebook may take on the hidden test set, as reckoned here."""
        return SHARE * self.hours * 3600
