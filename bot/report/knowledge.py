"""A run's ideas with their drafts, its drafts with their nodes, and its reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlmodel import Session, col, select

from bot.community.ideas.pool import PROPOSED
from bot.report.nodes import NodeRow
from bot.report.result import RunResult
from bot.report.words import fair_share, shortened
from bot.status.knowledge import IdeaShown, ideas_of
from state.store import Store
from state.tables import Draft, Event, Report, Run

ALL_TIME = datetime.max.replace(tzinfo=UTC)
"""As of which nothing is hidden: a report shows all that its run knew."""
LONGEST_REASON = 300
MOST_DROPPED = 40
LONGEST_TEXT = 6_000
TEXT_BUDGET = 200_000
"""Most characters on a page for the texts of all ideas, of all drafts, and of all reports."""
PARTS_OF_REPORT = 8
"""Texts of one report: method, numbers, limitations, next steps, and a few components."""


@dataclass(frozen=True)
class DraftRow:
    """A draft with its nodes, the best of them by validation score, and its report if one was written."""

    row: Draft
    nodes: tuple[int, ...]
    best: NodeRow | None
    report: Report | None


@dataclass(frozen=True)
class IdeaRow:
    """An idea, and the drafts that used it."""

    shown: IdeaShown
    drafts: tuple[DraftRow, ...]


@dataclass(frozen=True)
class Knowledge:
    """Everything that a run learned; ideas whose drafts scored best come first, unused ones later, closed ones last."""

    ideas: tuple[IdeaRow, ...]
    dropped: tuple[tuple[str, str], ...]
    """Ideas that were thought up and not kept, the latest first, with why."""
    drafts: tuple[DraftRow, ...]
    other_reports: tuple[Report, ...]
    """Reports that belong to no draft, such as the baseline's."""
    idea_limit: int
    """Most characters of the text of an idea; the next two: of a draft's description, and of one text of a report."""
    draft_limit: int
    report_limit: int


def read_knowledge(store: Store, session: Session, run: Run, result: RunResult, nodes: Sequence[NodeRow]) -> Knowledge:
    """Read what a run learned."""
    reports = session.exec(select(Report).where(Report.run_id == run.id)).all()
    of_draft = {row.draft_id: row for row in reports}
    rows = session.exec(select(Draft).where(Draft.run_id == run.id).order_by(col(Draft.created_at))).all()
    drafts = tuple(_draft(row, nodes, of_draft.get(row.id), result) for row in rows)
    pool = ideas_of(store, run, ALL_TIME)
    ideas = [IdeaRow(one, tuple(d for d in drafts if one.number in d.row.idea_ids)) for one in pool]
    return Knowledge(
        ideas=tuple(sorted(ideas, key=lambda row: _merit(row, result), reverse=True)),
        dropped=_dropped(session, run.id),
        drafts=drafts,
        other_reports=tuple(row for row in reports if row.draft_id is None),
        idea_limit=fair_share(TEXT_BUDGET, len(ideas), LONGEST_TEXT),
        draft_limit=fair_share(TEXT_BUDGET, len(drafts), LONGEST_TEXT),
        report_limit=fair_share(TEXT_BUDGET, PARTS_OF_REPORT * len(reports), LONGEST_TEXT),
    )


def _dropped(session: Session, run_id: str) -> tuple[tuple[str, str], ...]:
    query = select(Event).where(Event.run_id == run_id, Event.type == PROPOSED).order_by(col(Event.seq).desc())
    found = [one for event in session.exec(query) for one in event.data.get("dropped", ())]
    return tuple(
        (shortened(one["idea"], LONGEST_REASON), shortened(one["why"], LONGEST_REASON)) for one in found[:MOST_DROPPED]
    )


def _merit(row: IdeaRow, result: RunResult) -> tuple[bool, int, float, int]:
    scores = [d.best.validation for d in row.drafts if d.best is not None and d.best.validation is not None]
    best = max((result.oriented(s) for s in scores), default=0.0)
    return row.shown.state == "live", 2 if scores else 1 if row.drafts else 0, best, -row.shown.number


def _draft(row: Draft, nodes: Sequence[NodeRow], report: Report | None, result: RunResult) -> DraftRow:
    own = [n for n in nodes if n.draft_id == row.id]
    scored = [n for n in own if n.validation is not None]
    best = max(scored, key=lambda n: (result.oriented(n.validation or 0.0), -n.id), default=None)
    return DraftRow(row, tuple(n.id for n in own), best, report)
