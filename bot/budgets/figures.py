"""What was spent, what is left and what it may come to, as result.json and `bot status` show it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level

_NOT_PROJECTED = frozenset({Kind.SUBMISSIONS})
"""What comes at the end, and not as the work goes on."""


@dataclass(frozen=True)
class Figure:
    """One kind at one level, in the kind's unit; `cap` and `left` None where there is no cap."""

    cap: float | None
    spent: float
    left: float | None
    projected: float | None
    """What it comes to when the run uses all of its nodes or time; None where that cannot be said."""


def share(nodes: int, steps: int | None, wall: float, seconds: float) -> float:
    """Return how much of a run is done, 0 to 1: of its nodes where they are bounded, else of its time."""
    done = nodes / steps if steps else wall / seconds
    return min(1.0, max(0.0, done))


def project(kind: Kind, spent: float, done: float | None, around: float = 0.0) -> float | None:
    """Return what spending comes to when the run goes on to its end at the pace that it had so far.

    It is linear: `spent / done`, `done` being the `share` of the run that is done; None before anything is, and for
    submissions, which come at the end alone.

    Args:
        kind: what is spent.
        spent: by the run.
        done: share of the run that is done, 0 to 1; None: the run has ended, and nothing more will be spent.
        around: what others have spent at the same level, to which the run adds.
    """
    if done is None or done <= 0 or kind in _NOT_PROJECTED:
        return None
    return around + spent / done


def figure(kind: Kind, cap: float | None, spent: float, projected: float | None) -> Figure:
    """Return a figure, rounded to a millionth."""
    left = None if cap is None else round(max(0.0, cap - spent), 6)
    return Figure(cap, round(spent, 6), left, None if projected is None else round(projected, 6))


def figures(run: Level, done: float | None) -> dict[str, Mapping[str, Mapping[str, float | None]]]:
    """Return {level: {kind: {cap, spent, left, projected}}} of a run's level and all around it.

    Args:
        run: the level of the run.
        done: as for `project`.
    """
    own = run.usage
    found: dict[str, Mapping[str, Mapping[str, float | None]]] = {}
    for level in run.levels:
        usage = level.usage
        found[level.name] = {
            kind.value: asdict(
                figure(
                    kind,
                    level.caps.of(kind),
                    usage[kind],
                    project(kind, own[kind], done, around=max(0.0, usage[kind] - own[kind])),
                )
            )
            for kind in Kind
        }
    return found
