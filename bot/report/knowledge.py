"""A run's ideas with their drafts, its drafts with their nodes, and its reports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.community.ideas.evidence import IdeaEvidence
from bot.community.ideas.pool import PROPOSED
from bot.engine.run_record import RunRecord
from bot.report.nodes import NodeRow
from bot.report.result import RunResult
from bot.report.words import fair_share, shortened
from state.tables import Draft, Report

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
class Knowledge:
    """Everything that a run learned; ideas whose drafts scored best come first, unused ones later, closed ones last."""

    ideas: tuple[IdeaEvidence, ...]
    drafts_of: Mapping[int, Sequence[DraftRow]]
    """The drafts that used an idea, by its number."""
    dropped: tuple[tuple[str, str], ...]
    """Ideas that were thought up and not kept, the latest first, with why."""
    drafts: tuple[DraftRow, ...]
    other_reports: tuple[Report, ...]
    """Reports that belong to no draft, such as the baseline's."""
    idea_limit: int
    """Most characters of the text of an idea; the next two: of a draft's description, and of one text of a report."""
    draft_limit: int
    report_limit: int


def read_knowledge(
    run: RunRecord, pool: Sequence[IdeaEvidence], result: RunResult, nodes: Sequence[NodeRow]
) -> Knowledge:
    """Return what a run learned; `pool` are its ideas."""
    reports = {row.draft_id: row for row in run.reports}
    rows = sorted(run.drafts, key=lambda row: row.created_at)
    drafts = tuple(_draft(row, nodes, reports.get(row.id), result) for row in rows)
    drafts_of = {one.idea.id: [draft for draft in drafts if one.idea.id in draft.row.idea_ids] for one in pool}
    dropped = [one for event in reversed(run.events(PROPOSED)) for one in event.data.get("dropped", ())]
    return Knowledge(
        ideas=tuple(sorted(pool, key=lambda one: _merit(one, drafts_of[one.idea.id], result), reverse=True)),
        drafts_of=drafts_of,
        dropped=tuple(
            (shortened(one["idea"], LONGEST_REASON), shortened(one["why"], LONGEST_REASON))
            for one in dropped[:MOST_DROPPED]
        ),
        drafts=drafts,
        other_reports=tuple(row for row in run.reports if row.draft_id is None),
        idea_limit=fair_share(TEXT_BUDGET, len(pool), LONGEST_TEXT),
        draft_limit=fair_share(TEXT_BUDGET, len(drafts), LONGEST_TEXT),
        report_limit=fair_share(TEXT_BUDGET, PARTS_OF_REPORT * len(run.reports), LONGEST_TEXT),
    )


def _merit(one: IdeaEvidence, drafts: Sequence[DraftRow], result: RunResult) -> tuple[bool, int, float, int]:
    scores = [draft.best.validation for draft in drafts if draft.best is not None and draft.best.validation is not None]
    best = max(map(result.oriented, scores), default=0.0)
    return one.live, 2 if scores else 1 if drafts else 0, best, -one.idea.id


def _draft(row: Draft, nodes: Sequence[NodeRow], report: Report | None, result: RunResult) -> DraftRow:
    own = [node for node in nodes if node.draft_id == row.id]
    scored = [node for node in own if node.validation is not None]
    best = max(scored, key=lambda node: (result.oriented(node.validation or 0.0), -node.id), default=None)
    return DraftRow(row, tuple(node.id for node in own), best, report)
