"""Figures of a budget for result.json and `bot status`: spent, left and projected."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from bot.budgets.kinds import Kind
from bot.budgets.levels import Level


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
    return min(1.0, max(0.0, nodes / steps if steps else wall / seconds))


def project(kind: Kind, amount: float, share_done: float | None, around: float = 0.0) -> float | None:
    """Return the expected spending at the end of the run, at its pace so far.

    It is linear in `share_done` of `share` (None: the run has ended); None before anything is done, and for submissions,
    which come only at the end. `around` is the spending of other runs at the same level.
    """
    if share_done is None or share_done <= 0 or kind is Kind.SUBMISSIONS:
        return None
    return around + amount / share_done


def figure(cap: float | None, amount: float, projected: float | None = None) -> Figure:
    """Return a figure, rounded to a millionth."""
    remaining = None if cap is None else round(max(0.0, cap - amount), 6)
    return Figure(cap, round(amount, 6), remaining, None if projected is None else round(projected, 6))


def figures(run: Level, share_done: float | None) -> dict[str, dict[str, Mapping[str, float | None]]]:
    """Return {level: {kind: {cap, spent, left, projected}}} of a run's level and all levels around it."""
    own_usage, all_figures = run.usage, dict[str, dict[str, Mapping[str, float | None]]]()
    for level in run.levels:
        all_figures[level.name] = {}
        for kind, amount in level.usage.items():
            projected = project(kind, own_usage[kind], share_done, around=max(0.0, amount - own_usage[kind]))
            all_figures[level.name][kind.value] = asdict(figure(level.caps.cap_of(kind), amount, projected))
    return all_figures
