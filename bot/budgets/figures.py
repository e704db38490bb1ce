"""Figures of a budget for result.json and `bot status`: spent, left and projected."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level

_NOT_PROJECTED = frozenset({Kind.SUBMISSIONS})
"""Kinds that are spent at the end, not as the work goes on."""


@dataclass(frozen=True)
class Figure:
    """One kind at one level, in the kind's unit; `cap` and `left` None where there is no cap."""

    cap: float | None
    spent: float
    left: float | None
    projected: float | None
    """Expected spending when the run has used all of its nodes or time; None if unknown."""


def share(nodes: int, steps: int | None, wall: float, seconds: float) -> float:
    """Return the share of a run that is done, 0 to 1: of its nodes if they are bounded, else of its time."""
    done = nodes / steps if steps else wall / seconds
    return min(1.0, max(0.0, done))


def project(kind: Kind, spent: float, done: float | None, around: float = 0.0) -> float | None:
    """Return the expected spending at the end of the run, at its pace so far.

    It is linear: `spent / done`, with `done` from `share`; None before anything is done, and for submissions, which come
    only at the end.

    `done` None: the run has ended, and nothing more will be spent. `around` is the spending of others at the same
    level.
    """
    if done is None or done <= 0 or kind in _NOT_PROJECTED:
        return None
    return around + spent / done


def figure(cap: float | None, spent: float, projected: float | None = None) -> Figure:
    """Return a figure, rounded to a millionth."""
    left = None if cap is None else round(max(0.0, cap - spent), 6)
    return Figure(cap, round(spent, 6), left, None if projected is None else round(projected, 6))


def figures(run: Level, done: float | None) -> dict[str, Mapping[str, Mapping[str, float | None]]]:
    """Return {level: {kind: {cap, spent, left, projected}}} of a run's level and all levels around it."""
    own = run.usage

    def of(level: Level, kind: Kind, spent: float) -> Mapping[str, float | None]:
        projected = project(kind, own[kind], done, around=max(0.0, spent - own[kind]))
        return asdict(figure(level.caps.of(kind), spent, projected))

    return {
        level.name: {kind.value: of(level, kind, spent) for kind, spent in level.usage.items()} for level in run.levels
    }
