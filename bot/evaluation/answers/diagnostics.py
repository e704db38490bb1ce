"""How the chosen predictions err, for the report: by group, by the probability they give, and by the number they predict."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Grouping:
    """All groups of one column, the worst first."""

    column: str
    """Empty: the label itself."""
    groups: tuple[tuple[str, int, float], ...]
    """The class, level or range, its number of rows, and its score in the metric's own sign."""


@dataclass(frozen=True)
class Diagnostics:
    """How predictions err; a part that does not apply to the metric is empty."""

    rows: int
    out_of_fold: bool
    """Whether the rows are training rows, predicted out of fold; else they are the hold-out."""
    groupings: tuple[Grouping, ...] = ()
    columns_compared: int = 0
    """Columns whose groups were compared, the label not among them."""
    calibration: tuple[tuple[float, float, int], ...] = ()
    """Mean probability, share of positives and number of predictions in each tenth of the scale that has enough of them."""
    residuals: tuple[tuple[float, float], ...] = ()
    """Prediction and residual (truth less prediction) of some rows, of the first target."""
