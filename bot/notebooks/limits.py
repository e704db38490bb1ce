"""The limits of a competition's notebooks."""

from dataclasses import dataclass

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

    @property
    def seconds(self) -> float:
        """Seconds that a notebook may take on the hidden test set, as reckoned here."""
        return SHARE * self.hours * 3600
