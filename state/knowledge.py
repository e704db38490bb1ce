"""Knowledge: a run's analyses, reproduced kernels, ideas, drafts and reports, written with their events and read as of a time."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, TypeVar

from sqlalchemy import func
from sqlmodel import Session, col, delete, select

from state.store import Store, Transaction
from state.tables import Analysis, Draft, Idea, IdeaUse, Node, Report, Reproduction

DerivedT = TypeVar("DerivedT", Analysis, Idea, Draft, Report, Reproduction)


def add_analysis(tx: Transaction, row: Analysis) -> None:
    """Store the analysis of a document; another one under its id replaces it. See `_check` for errors."""
    _check(tx, row.known_at)
    tx.session.merge(row)
    post = f"{row.post_kind}/{row.post_id}"
    tx.record("analysis.added", run_id=row.run_id, analysis=row.id, post=post, known_at=row.known_at)


def add_idea(
    tx: Transaction, run_id: str, *, text: str, sources: Sequence[str], known_at: datetime, path: str = ""
) -> Idea:
    """Store an idea under the run's next number. See `_check` for errors."""
    _check(tx, known_at)
    last = tx.session.exec(select(func.max(Idea.id)).where(Idea.run_id == run_id)).one()
    row = Idea(
        run_id=run_id,
        id=(last or 0) + 1,
        text=text,
        sources=list(sources),
        path=path,
        known_at=known_at,
        created_at=tx.now(),
    )
    tx.session.add(row)
    tx.session.flush()
    tx.record("idea.added", run_id=run_id, idea=row.id, sources=row.sources, known_at=known_at)
    return row


def close_idea(
    tx: Transaction,
    run_id: str,
    number: int,
    state: Literal["merged", "split", "retired"],
    *,
    reason: str,
    known_at: datetime,
    successors: Sequence[int] = (),
) -> None:
    """Offer a live idea no more; its row stays, with the reason and what takes its place. See `_check` for errors.

    Raises ValueError: there is no such live idea, or it is dated after `known_at`.
    """
    _check(tx, known_at)
    row = tx.session.get(Idea, (run_id, number))
    if row is None or row.state != "live" or row.known_at > known_at:
        raise ValueError(f"idea {number} cannot be {state}: it is not live as of {known_at}")
    row.state, row.reason, row.successors, row.closed_at = state, reason, list(successors), known_at
    tx.session.add(row)
    fields: dict[str, Any] = {"idea": number, "state": state, "successors": row.successors, "reason": reason}
    tx.record("idea.closed", run_id=run_id, known_at=known_at, **fields)


def add_draft(tx: Transaction, row: Draft) -> None:
    """Store a draft and its uses of ideas; another draft under its id replaces it. See `_check` for errors."""
    _check(tx, row.known_at)
    tx.session.merge(row)
    tx.session.exec(delete(IdeaUse).where(col(IdeaUse.run_id) == row.run_id, col(IdeaUse.draft_id) == row.id))
    for idea_id in dict.fromkeys(row.idea_ids):
        tx.session.add(IdeaUse(run_id=row.run_id, idea_id=idea_id, draft_id=row.id))
    node = tx.session.exec(select(Node.id).where(Node.run_id == row.run_id, Node.draft_id == row.id)).first()
    fields = {"draft": row.id, "title": row.title, "ideas": row.idea_ids, "known_at": row.known_at}
    tx.record("draft.added", run_id=row.run_id, node=node, **fields)


def add_report(tx: Transaction, row: Report) -> None:
    """Store the report on a draft (or on reproducing a kernel); another one under its id replaces it. See `_check`."""
    _check(tx, row.known_at)
    tx.session.merge(row)
    fields = {"report": row.id, "draft": row.draft_id, "best_node": row.best_node, "score": row.score}
    tx.record("report.added", run_id=row.run_id, node=row.best_node, known_at=row.known_at, **fields)


def add_reproduction(tx: Transaction, row: Reproduction) -> None:
    """Store what came of a kernel's version; another row under its id replaces it. See `_check` for errors."""
    _check(tx, row.known_at)
    merged = tx.session.merge(row)
    fields = {"kernel": row.id, "state": row.state, "reason": row.reason, "published": row.published}
    tx.record("kernel.reproduced", run_id=row.run_id, node=row.node, measured=merged.measured, **fields)


def analyses(store: Store, run_id: str, as_of: datetime) -> list[Analysis]:
    """Return the run's analyses that are known at `as_of`, by id."""
    return _visible_rows(store, Analysis, run_id, as_of)


def ideas(store: Store, run_id: str, as_of: datetime) -> list[Idea]:
    """Return the run's ideas that are known at `as_of`, by number; one that was closed for later things is still live."""
    return _visible_rows(store, Idea, run_id, as_of)


def drafts(store: Store, run_id: str, as_of: datetime) -> list[Draft]:
    """Return the run's drafts that are known at `as_of`, by id."""
    return _visible_rows(store, Draft, run_id, as_of)


def reports(store: Store, run_id: str, as_of: datetime) -> list[Report]:
    """Return the run's reports that are known at `as_of`, by id."""
    return _visible_rows(store, Report, run_id, as_of)


def reproductions(store: Store, run_id: str, as_of: datetime) -> list[Reproduction]:
    """Return what came of the kernels that the run tried to reproduce and that are known at `as_of`, by id."""
    return _visible_rows(store, Reproduction, run_id, as_of)


def known_rows(session: Session, table: type[DerivedT], run_id: str, as_of: datetime | None = None) -> list[DerivedT]:
    """Return the rows of a table that are known at a time, by id; None: all."""
    query = select(table).where(table.run_id == run_id).order_by(col(table.id))
    rows = list(session.exec(query if as_of is None else query.where(table.known_at <= as_of)))
    for row in rows:
        if as_of is not None and isinstance(row, Idea) and row.closed_at is not None and row.closed_at > as_of:
            session.expunge(row)
            row.state, row.reason, row.successors, row.closed_at = "live", "", [], None
    return rows


def _visible_rows(store: Store, table: type[DerivedT], run_id: str, as_of: datetime) -> list[DerivedT]:
    with store.read() as session:
        return known_rows(session, table, run_id, as_of)


def _check(tx: Transaction, known_at: datetime) -> None:
    """Refuse a row with knowledge from after the clock's time.

    Raises:
        ValueError: `known_at` is later than the clock's `as_of`; it is the latest time among the row's inputs, never
            the time at which the row is made.
    """
    if known_at > tx.clock.as_of():
        raise ValueError(f"known_at {known_at} is later than the clock's time {tx.clock.as_of()}")
