"""Everything that a report shows, read from a run's folder."""

import contextlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from sqlmodel import Session

from bot.community.ideas.evidence import IdeaEvidence
from bot.community.ideas.pool import PROPOSED
from bot.engine.fits import IMPORTANCES
from bot.engine.run_record import LabStory, RunRecord
from bot.evaluation.answers.board import read_leaderboard
from bot.execution.folder import RunFolder
from bot.leaderboard.board import read_board
from bot.report.credits import PostCredit, measure_credits
from bot.report.nodes import NodeRow, node_rows
from bot.report.result import RunResult, read_latest
from bot.report.spending import ViewSpending, by_view
from bot.report.stream import PostUse
from bot.report.words import fair_share, shortened
from bot.status.knowledge import Source, find_sources, read_ideas
from bot.submission.notebook_lines import NotebookLine, notebook_lines
from state.clock import SystemClock
from state.errors import SnapshotError, UsageError
from state.series import last_reading
from state.store import Store
from state.tables import Draft, Report, Reproduction

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
    dropped_ideas: tuple[tuple[str, str], ...]
    """Ideas that were proposed and not kept, the latest first, with the reason."""
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
    drafts_of = {entry.idea.id: [draft for draft in drafts if entry.idea.id in draft.row.idea_ids] for entry in pool}
    dropped_ideas = [idea for event in reversed(run.events(PROPOSED)) for idea in event.data.get("dropped", ())]
    texts = [[shortened(idea[key], LONGEST_REASON) for key in ("idea", "why")] for idea in dropped_ideas[:MOST_DROPPED]]
    return Knowledge(
        ideas=tuple(sorted(pool, key=lambda entry: _merit(entry, drafts_of[entry.idea.id], result), reverse=True)),
        drafts_of=drafts_of,
        dropped_ideas=tuple((idea, reason) for idea, reason in texts),
        drafts=drafts,
        other_reports=tuple(row for row in run.reports if row.draft_id is None),
        idea_limit=fair_share(TEXT_BUDGET, len(pool), LONGEST_TEXT),
        draft_limit=fair_share(TEXT_BUDGET, len(drafts), LONGEST_TEXT),
        report_limit=fair_share(TEXT_BUDGET, PARTS_OF_REPORT * len(run.reports), LONGEST_TEXT),
    )


def _merit(entry: IdeaEvidence, drafts: Sequence[DraftRow], result: RunResult) -> tuple[bool, int, float, int]:
    scores = [draft.best.validation for draft in drafts if draft.best is not None and draft.best.validation is not None]
    best = max(map(result.oriented, scores), default=0.0)
    return entry.live, 2 if scores else 1 if drafts else 0, best, -entry.idea.id


def _draft(row: Draft, nodes: Sequence[NodeRow], report: Report | None, result: RunResult) -> DraftRow:
    draft_nodes = [node for node in nodes if node.draft_id == row.id]
    scored_nodes = [node for node in draft_nodes if node.validation is not None]
    best = max(scored_nodes, key=lambda node: (result.oriented(node.validation or 0.0), -node.id), default=None)
    return DraftRow(row, tuple(node.id for node in draft_nodes), best, report)


_ALL_TIME = datetime.max.replace(tzinfo=UTC)
_PRINTED_IMPORTANCES = re.compile(r"^feature importances: (\{.{1,20000}\})$", re.MULTILINE)
"""The line by which a script says its feature importances."""
_SHARES = TypeAdapter(dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]])
_MAX_FEATURES = 15
LONGEST_CODE = 150_000
"""Most characters of the submitted script on a page."""


class _Metric(BaseModel):
    name: str


class Competition(BaseModel):
    """What a page shows of the competition; the snapshot's manifest, or a live run's task card, holds more."""

    title: str
    url: str | None = None
    category: str | None = None
    metric: _Metric | None = None
    split: str | None = None


@dataclass(frozen=True)
class ReportData:
    """One run, ready to be shown; nothing is escaped yet."""

    result: RunResult
    competition: Competition
    board: tuple[float, ...]
    """The real leaderboard, best first; empty if the snapshot is gone, or a live board was never read as a whole."""
    nodes: tuple[NodeRow, ...]
    knowledge: Knowledge
    sources: Mapping[str, Source]
    """The posts and reports that the page names, by item."""
    brought: tuple[tuple[Source, PostCredit], ...]
    """What came of each post that an idea was drawn from or that was reproduced, the most useful first."""
    importances: Mapping[str, float]
    """Feature importances as shares, the largest first; empty: none were stored."""
    importance_node: int | None
    """The node that they are of: the chosen one, or the heaviest of its ensemble that has any."""
    labs: tuple[LabStory, ...]
    notebooks: tuple[NotebookLine, ...]
    """Of a live run in a competition of notebooks: where each stands."""
    kernels: tuple[Reproduction, ...]
    """Public kernels that were run here, or recognised as unable to run, the best measured first."""
    streamed_posts: tuple[tuple[PostUse, Source], ...]
    """Posts that were read while the clock moved, in order of time; those that a node used come first."""
    views: tuple[ViewSpending, ...]
    phases: tuple[str, ...]
    """When each phase began, a sentence each; empty where the agent has none."""
    code: str | None
    settings: str
    """All settings, as indented JSON."""


def read_run(folder: RunFolder) -> ReportData:
    """Read a finished run's folder, and the run's rows from its database.

    Raises UsageError: the folder lacks a file of a finished run, or one cannot be read.
    """
    result = read_latest(folder)
    try:
        config = dict(json.loads(folder.config.read_text(encoding="utf-8")))
    except (FileNotFoundError, TypeError, ValueError) as error:
        raise UsageError(f"cannot read {folder.config}: {error}") from error
    with Store.open_to_read(folder.database, SystemClock()) as store, store.read() as session:
        return _read(store, session, RunRecord.load(session, result.run_id), result, config)


def _read(store: Store, session: Session, run: RunRecord, result: RunResult, config: Mapping[str, Any]) -> ReportData:
    competition, board = (_live if result.live else _past)(session, result, config)
    nodes, credits = node_rows(run, result, board), measure_credits(run).posts
    posts = sorted(
        () if result.stream is None else result.stream.posts, key=lambda use: (not use.nodes, use.posted, use.item)
    )
    importance_node, importances = _importances(run, result)
    chosen_node = run.nodes.get(result.chosen_node or 0)
    code_sha = None if chosen_node is None else chosen_node.code_sha
    pool, sources = read_ideas(store, run, _ALL_TIME)
    sources |= find_sources(store, result.competition_id, {*credits, *(use.item for use in posts)}, _ALL_TIME)
    return ReportData(
        result=result,
        competition=competition,
        board=board,
        nodes=nodes,
        knowledge=read_knowledge(run, pool, result, nodes),
        sources=sources,
        brought=tuple((sources[item], credit) for item, credit in credits.items()),
        importances=importances,
        importance_node=importance_node,
        labs=tuple(run.lab(row) for row in run.labs),
        notebooks=tuple(notebook_lines(session, run.id)),
        kernels=tuple(sorted(run.kernels, key=lambda row: (_place(row, result), row.id))),
        streamed_posts=tuple((use, sources[use.item]) for use in posts),
        views=tuple(by_view(run.executions)),
        # A bot that was killed at the wrong moment has told it twice.
        phases=tuple(
            {event.data["phase"]: str(event.data["sentence"]) for event in run.events("phase.began")}.values()
        ),
        code=None if code_sha is None else shortened(run.text(code_sha), LONGEST_CODE),
        settings=json.dumps(config, indent=2, ensure_ascii=False),
    )


def _past(_: Session, result: RunResult, config: Mapping[str, Any]) -> tuple[Competition, tuple[float, ...]]:
    """Return the snapshot's facts on the competition, and its leaderboard; a page without them is better than none."""
    competition, board = Competition(title=result.competition_id), tuple[float, ...]()
    name = config.get("settings", {}).get("snapshot")
    if isinstance(name, str):
        with contextlib.suppress(OSError, ValidationError):
            competition = Competition.model_validate_json((Path(name) / "snapshot.json").read_bytes())
        with contextlib.suppress(SnapshotError):
            board = read_leaderboard(Path(name) / "leaderboard.csv")
    return competition, board


def _live(session: Session, result: RunResult, config: Mapping[str, Any]) -> tuple[Competition, tuple[float, ...]]:
    """Return the settings' facts on the competition, and the leaderboard as last read."""
    slug = result.competition_id
    facts = last_reading(session, slug, "competition")
    url = facts.data.get("url") if facts is not None else None
    competition = Competition(title=slug, url=url)
    with contextlib.suppress(TypeError, ValidationError):
        competition = Competition.model_validate({"title": slug, **config.get("card", {}), "url": url})
    board = read_board(session, slug, lower_is_better=result.is_lower_better)
    return competition, tuple(board.scores) if board and board.complete else ()


def _importances(run: RunRecord, result: RunResult) -> tuple[int | None, Mapping[str, float]]:
    """Return the feature importances that a script printed or the portfolio stored, and the node that they are of."""
    stored_shas = {e.node: e.sources[IMPORTANCES] for e in run.experiments if IMPORTANCES in e.sources}
    weights: Mapping[int, float] = {result.chosen_node or 0: 1.0}
    if result.blend is not None and result.blend.node == result.chosen_node:
        weights = result.blend.weights
    for node in sorted(weights, key=lambda member: -abs(weights[member])):
        sha = stored_shas.get(node)
        texts = _PRINTED_IMPORTANCES.findall(run.last_log(node)) if sha is None else [run.text(sha)]
        for text in texts[-1:]:
            with contextlib.suppress(ValidationError):
                shares = _SHARES.validate_json(text)
                return node, dict(sorted(shares.items(), key=lambda item: -item[1])[:_MAX_FEATURES])
    return None, {}


def _place(row: Reproduction, result: RunResult) -> float:
    return math.inf if row.measured is None else -result.oriented(row.measured)
