"""Earlier nodes and their results, read from the database for coders and policies."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlalchemy import func
from sqlmodel import col, select

from bot.engine.context import RunContext
from bot.engine.experiment import experiments_in
from bot.engine.results import BlendFit, score_of
from bot.engine.run_record import RunRecord
from bot.engine.tree import BASELINE, NodeView, Tree, TreeCache
from bot.evaluation.answers import NodeScore
from bot.evaluation.answers.blends import FittedBlend
from bot.execution.record import EXECUTED, GUARDED, last_execution
from state.notebooks import notebook_states
from state.steps import Key, StepKind, read_step, read_steps
from state.store import Store
from state.tables import Draft, Event, Node

_LOG = 300
"""Last characters of a notebook's log that a prompt shows."""
_MOST_SINGLE = 200
"""Nodes that are read by number; if there are more, all are read."""


BLEND = StepKind("blend", BlendFit)


@dataclass(frozen=True)
class NodeFeedback:
    """A script that was run, and its result: the coder's feedback."""

    node: int
    action: str
    plan: str
    code: str
    score: NodeScore | None
    """On the hold-out view; the gain is over the script that it builds on."""
    error: str | None
    """One sentence: the exit reason, or the validator's message, with the view."""
    output: str
    """Cleaned and capped output, the error that matters first."""
    seconds: float
    """Of the script's last run alone."""
    findings: tuple[str, ...] = ()
    """Of guards, a sentence each."""
    infer: str | None = None
    """Its inference script, in a notebook competition."""


@contextmanager
def open_record(context: RunContext) -> Iterator[RunRecord]:
    """Open the run's record as of its clock."""
    with context.store.read() as session:
        yield RunRecord.load(session, context.run_id, context.clock.as_of())


def load_tree(context: RunContext) -> Tree:
    """Return the run's tree; only changes are read again."""
    return read_tree(context.store, context.run_id, context.card.lower_is_better, context.tree_cache)


def read_tree(store: Store, run_id: str, lower_is_better: bool, cache: TreeCache) -> Tree:
    """Return a run's tree; of cached nodes, only those with events since the last reading are read again.

    Each change to a node is written with an event that names it, so that no change is missed.
    """
    with cache.lock:
        with store.read() as session:
            last = session.exec(select(func.max(Event.seq)).where(Event.run_id == run_id)).one() or 0
            query, touched = select(Node).where(Node.run_id == run_id), None
            if cache.last_event is not None:
                news = select(Event.node).where(Event.run_id == run_id, Event.seq > cache.last_event).distinct()
                touched = [node for node in session.exec(news) if node is not None] if last > cache.last_event else []
                # More would make the statement too long, and are hardly fewer than all.
                query = query.where(col(Node.id).in_(touched)) if len(touched) <= _MOST_SINGLE else query
            rows = session.exec(query).all() if touched is None or touched else ()
            views = {}
            if rows:
                requested = touched if touched is not None and len(touched) <= _MOST_SINGLE else None
                steps = read_steps(session, run_id, EXECUTED, (GUARDED,), requested)
                scores = {key.node: execution.score for key, execution in steps.items()}
                shares = dict(session.exec(select(Draft.id, Draft.share).where(Draft.run_id == run_id)).all())
                # Experiments without some folds or predictions of the test rows, and withdrawn nodes.
                partial = {e.node for e in experiments_in(session, run_id) if not e.complete}
                partial |= set(session.exec(select(Node.id).where(Node.run_id == run_id, col(Node.withdrawn))))
                for row in rows:
                    view = _view(row, lower_is_better, scores.get(row.id))
                    share = shares.get(str(view.draft_id))
                    views[row.id] = replace(view, draft_share=share, complete=row.id not in partial)
        return cache.update(views, last)


def _view(row: Node, lower_is_better: bool, score: NodeScore | None) -> NodeView:
    if row.status not in ("running", "valid", "buggy", "failed"):
        raise ValueError(f"node {row.id} has an unknown status: {row.status!r}")
    return NodeView(
        id=row.id,
        action=row.action,
        state=row.status,  # type: ignore[arg-type] # narrowed by the check above, which mypy does not follow
        parents=tuple(row.parents),
        score=row.score,
        lower_is_better=lower_is_better,
        draft_id=None if row.draft_id is None else int(row.draft_id),
        seconds=row.seconds or 0.0,
        baseline=row.id == BASELINE or row.action == "baseline",
        spoiled=score is not None and score.spoiled,
        gain_error=0.0 if score is None else (score.gain and score.gain.std_error) or 0.0,
        families=tuple(row.families),
    )


def attempt(context: RunContext, node: int) -> NodeFeedback:
    """Return a node that has ended as a coder sees it."""
    with context.store.read() as session:
        row = session.get_one(Node, (context.run_id, node))
        last = last_execution(session, context.run_id, node)
        states = notebook_states(session, context.run_id).values() if context.takes_notebooks else ()
    failed_at_kaggle = [s for s in states if row.status == "valid" and s.node == node and s.stage == "failed"]
    score = None if last is None else last.score
    guards = () if score is None else score.guards
    return NodeFeedback(
        node=node,
        action=row.action,
        plan=row.plan,
        code=code(context, node),
        infer=infer_code(context, node),
        score=score_of(row, last),
        error=row.error,
        output="" if last is None else last.output,
        seconds=0.0 if last is None else last.seconds,
        findings=(
            *(guard.sentence for guard in guards if guard.verdict == "suspicious"),
            *(f"its notebook failed on Kaggle: {s.reason} {s.log[-_LOG:]}".rstrip() for s in failed_at_kaggle),
        ),
    )


def code(context: RunContext, node: int) -> str:
    """Return a node's script; empty where none was written."""
    with context.store.read() as session:
        row = session.get_one(Node, (context.run_id, node))
    return context.store.blob(row.code_sha).decode() if row.code_sha else ""


def infer_code(context: RunContext, node: int) -> str | None:
    """Return a node's inference script, which predicts in a notebook; None if it has none."""
    with context.store.read() as session:
        row = session.get_one(Node, (context.run_id, node))
    return context.store.blob(row.infer_sha).decode() if row.infer_sha else None


def blend_of(store: Store, run_id: str, node: int) -> FittedBlend | None:
    """Return the blend that a node is made of; None: it is a script's."""
    with store.read() as session:
        fitted = read_step(session, run_id, BLEND, Key(node))
    return None if fitted is None else fitted.blend
