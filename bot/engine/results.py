"""A run's results so far, as a table for prompts: each node's score, noise, gain, seconds and error."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import func
from sqlmodel import col, select

from bot.evaluation.answers import Noise
from bot.execution.record import GUARDED, Execution, last_execution, step_of
from state.store import Store
from state.tables import Draft, Node, Step

_BEST, _NEWEST = 20, 10
"""Rows shown of a longer table."""
_TITLE = 100


@dataclass(frozen=True)
class Result:
    """One line of the table of a run's results."""

    node: int
    action: str
    title: str
    """Title of its draft, or the first line of its plan."""
    parents: tuple[int, ...]
    score: float | None
    noise: float | None
    gain: float | None
    gain_error: float | None
    seconds: float
    """Of its script alone."""
    error: str | None
    families: tuple[str, ...] = ()
    """Families of models that its script uses; none where nobody looked."""


def results(store: Store, run_id: str, oriented: Callable[[float], float]) -> tuple[Result, ...]:
    """Return the nodes that have ended, by number; if there are many, the best and the newest.

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
    with store.read() as session:
        return tuple(
            _result(node, titles.get(node.draft_id or ""), last_execution(session, run_id, node.id)) for node in kept
        )


def typical_noise(store: Store, run_id: str) -> float | None:
    """Return the median standard error of a score in a run; None where none is known."""
    error = func.json_extract(col(Step.result), "$.score.noise.score_error")
    query = select(error).where(Step.run_id == run_id, Step.name == step_of(GUARDED), error.is_not(None))
    with store.read() as session:
        known = session.exec(query).all()
    return statistics.median(known) if known else None


def _result(node: Node, title: str | None, ran: Execution | None) -> Result:
    noise = Noise() if ran is None or ran.score is None else ran.score.noise
    plan = next((line for line in node.plan.splitlines() if line.strip()), "")
    # A lab's script is known by the note that its coder left, which follows the title of the draft.
    words = (title and plan.removeprefix(f"{title}: ") if title and plan.startswith(f"{title}: ") else title) or plan
    return Result(
        node=node.id,
        action=node.action,
        title=words[:_TITLE],
        parents=tuple(node.parents),
        score=node.score,
        noise=noise.score_error,
        gain=noise.gain,
        gain_error=noise.gain_error,
        seconds=0.0 if ran is None else ran.seconds,
        error=node.error,
        families=tuple(node.families),
    )
