"""A run's results so far, as a table for prompts: each node's score with its noise and its gain, seconds and error."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select

from state.store import Store
from state.tables import Draft, Node, Step

__all__ = ["NOISE_STEP", "Result", "results", "typical_noise"]

NOISE_STEP = "noise"
"""Name of the step that keeps what `Executor.noise` estimated of a node."""
_BEST, _NEWEST = 20, 10
"""Rows that are shown of a longer table."""
_TITLE = 100


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


def results(store: Store, run_id: str, oriented: Callable[[float], float]) -> tuple[Result, ...]:
    """Return the nodes that have ended, by number; of many the best and the newest.

    Args:
        store: the run's database.
        run_id: the run.
        oriented: turns a score so that more is better.
    """
    with store.read() as session:
        nodes = session.exec(
            select(Node).where(Node.run_id == run_id, col(Node.status).in_(("valid", "buggy"))).order_by(col(Node.id))
        ).all()
        titles = dict(session.exec(select(Draft.id, Draft.title).where(Draft.run_id == run_id)).all())
    scored = [node for node in nodes if node.score is not None]
    scored.sort(key=lambda node: (-oriented(node.score or 0.0), node.id))
    shown = {node.id for node in (*scored[:_BEST], *nodes[-_NEWEST:])}
    kept = [node for node in nodes if node.id in shown]
    steps = _steps(store, run_id, [node.id for node in kept])
    return tuple(_result(node, titles.get(node.draft_id or ""), steps) for node in kept)


def typical_noise(store: Store, run_id: str) -> float | None:
    """Return the median standard error of a score in a run; None where none is known."""
    query = select(Step.result).where(Step.run_id == run_id, Step.name == NOISE_STEP)
    with store.read() as session:
        found = [result.get("score_error") for result in session.exec(query) if result is not None]
    known = [error for error in found if error is not None]
    return statistics.median(known) if known else None


def _steps(store: Store, run_id: str, nodes: list[int]) -> dict[tuple[int, str], dict[str, Any]]:
    names = (NOISE_STEP, "execute:holdout", "execute:sample")
    query = select(Step.node, Step.name, Step.result).where(
        Step.run_id == run_id, Step.attempt == 0, col(Step.name).in_(names), col(Step.node).in_(nodes)
    )
    with store.read() as session:
        return {(node, name): dict(result) for node, name, result in session.exec(query) if result is not None}


def _result(node: Node, title: str | None, steps: dict[tuple[int, str], dict[str, Any]]) -> Result:
    ran = steps.get((node.id, "execute:holdout")) or steps.get((node.id, "execute:sample")) or {}
    noise = steps.get((node.id, NOISE_STEP), {})
    words = title or next((line for line in node.plan.splitlines() if line.strip()), "")
    return Result(
        node=node.id,
        action=node.action,
        title=words[:_TITLE],
        parents=tuple(node.parents),
        score=node.score,
        noise=noise.get("score_error"),
        gain=noise.get("gain"),
        gain_error=noise.get("gain_error"),
        seconds=float(ran.get("seconds", 0.0)),
        error=node.error,
    )
