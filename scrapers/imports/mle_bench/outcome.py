"""What became of one competition, for the table at the end."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from state.errors import Problem

Status = Literal["imported", "there already", "failed"]


@dataclass(frozen=True)
class Outcome:
    """One competition after an import; of one that failed only `problems` are known."""

    slug: str
    status: Status
    metric: str | None = None
    direction: str | None = None
    how: str | None = None
    """How the metric was found."""
    rows: int | None = None
    """Of the answers."""
    teams: int | None = None
    files: int | None = None
    """Of `data/`."""
    left_out: tuple[str, ...] = ()
    """Files of `public/` that are not in `data/`, each with the reason."""
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0

    def told(self) -> dict[str, Any]:
        """Return all fields as JSON values."""
        values = asdict(self)
        values["problems"] = [str(problem) for problem in self.problems]
        values["left_out"], values["notes"] = list(self.left_out), list(self.notes)
        return values
