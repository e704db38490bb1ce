"""A run's ideas with their sources, its drafts and its reports, with their scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, col, select

from bot.community.ideas.evidence import BASES, Evidence, evidence, kernel_gains
from bot.community.ideas.pool import PROPOSED
from bot.engine.results import noise_in
from bot.engine.tree import BASELINE
from bot.report.nodes import NodeRow
from bot.report.result import RunResult
from bot.report.words import fair_share, shortened, web_link
from state.tables import Analysis, Draft, Event, Idea, KernelVersion, Message, Node, Report, Reproduction, Topic

LONGEST_TITLE = 160
LONGEST_REASON = 300
MOST_DROPPED = 40
LONGEST_TEXT = 6_000
TEXT_BUDGET = 200_000
"""Most characters on a page for the texts of all ideas, of all drafts, and of all reports."""
PARTS_OF_REPORT = 8
"""Texts of one report: method, numbers, limitations, next steps, and a few components."""


@dataclass(frozen=True)
class Source:
    """A source of an idea: a post, or a report of the run itself."""

    item: str
    """Such as `message/233009`."""
    title: str
    author: str | None = None
    time: datetime | None = None
    link: str | None = None
    """A web address (http or https), or an anchor on the page."""


@dataclass(frozen=True)
class DraftRow:
    """A draft with its nodes, the best of them by validation score, and its report if one was written."""

    id: str
    round: int
    title: str
    description: str
    ideas: tuple[int, ...]
    codebase_node: int | None
    aim: str
    share: float | None
    nodes: tuple[int, ...]
    best: NodeRow | None
    report: Report | None


@dataclass(frozen=True)
class IdeaRow:
    """An idea, where it came from, and the drafts that used it."""

    id: int
    text: str
    sources: tuple[Source, ...]
    """Its own, and those of ideas that were merged into it."""
    drafts: tuple[DraftRow, ...]
    evidence: Evidence
    basis: str
    """What the support rests on, in words."""
    reason: str
    """Why it is offered no more; empty if it is."""


@dataclass(frozen=True)
class Knowledge:
    """Everything that a run learned; ideas whose drafts scored best come first, unused ones later, closed ones last."""

    ideas: tuple[IdeaRow, ...]
    dropped: tuple[tuple[str, str], ...]
    """Ideas that were thought up and not kept, the latest first, with why."""
    drafts: tuple[DraftRow, ...]
    other_reports: tuple[Report, ...]
    """Reports that belong to no draft, such as the baseline's."""
    report_limit: int
    """Most characters of one text of a report."""


def read_knowledge(session: Session, result: RunResult, nodes: Sequence[NodeRow]) -> Knowledge:
    """Read what a run learned."""
    run_id = result.run_id
    rows = session.exec(select(Report).where(Report.run_id == run_id)).all()
    limit = fair_share(TEXT_BUDGET, PARTS_OF_REPORT * len(rows), LONGEST_TEXT)
    reports = {row.id: row for row in rows}
    of_draft = {row.draft_id: row for row in rows}
    drafts = session.exec(select(Draft).where(Draft.run_id == run_id).order_by(col(Draft.created_at))).all()
    each = fair_share(TEXT_BUDGET, len(drafts), LONGEST_TEXT)
    shown = tuple(_draft(d, nodes, of_draft.get(d.id), result, each) for d in drafts)
    return Knowledge(
        ideas=_ideas(session, result, shown, reports),
        dropped=_dropped(session, run_id),
        drafts=shown,
        other_reports=tuple(row for row in rows if row.draft_id is None),
        report_limit=limit,
    )


def _ideas(
    session: Session, result: RunResult, drafts: Sequence[DraftRow], reports: Mapping[str, Report]
) -> tuple[IdeaRow, ...]:
    pool = _evidence(session, result)
    items = {item for one in pool for item in one.sources}
    sources = {item: source_of(session, result.competition_id, item, reports) for item in items}
    limit = fair_share(TEXT_BUDGET, len(pool), LONGEST_TEXT)
    rows = [
        IdeaRow(
            id=one.idea.id,
            text=shortened(one.idea.text, limit),
            sources=tuple(sources[item] for item in one.sources),
            drafts=tuple(d for d in drafts if one.idea.id in d.ideas),
            evidence=one,
            basis=BASES[one.basis],
            reason=shortened(one.idea.reason, LONGEST_REASON),
        )
        for one in pool
    ]
    return tuple(sorted(rows, key=lambda row: _merit(row, result), reverse=True))


def _dropped(session: Session, run_id: str) -> tuple[tuple[str, str], ...]:
    query = select(Event).where(Event.run_id == run_id, Event.type == PROPOSED).order_by(col(Event.seq).desc())
    found = [one for event in session.exec(query) for one in event.data.get("dropped", ())]
    return tuple(
        (shortened(one["idea"], LONGEST_REASON), shortened(one["why"], LONGEST_REASON)) for one in found[:MOST_DROPPED]
    )


def _evidence(session: Session, result: RunResult) -> list[Evidence]:
    run_id, baseline = result.run_id, session.get(Node, (result.run_id, BASELINE))
    kernels = session.exec(select(Reproduction).where(Reproduction.run_id == run_id)).all()
    return evidence(
        session.exec(select(Idea).where(Idea.run_id == run_id).order_by(col(Idea.id))).all(),
        session.exec(select(Analysis).where(Analysis.run_id == run_id)).all(),
        session.exec(select(Draft).where(Draft.run_id == run_id)).all(),
        session.exec(select(Report).where(Report.run_id == run_id)).all(),
        noise_in(session, run_id),
        kernel_gains(kernels, baseline.score if baseline else None, lower_is_better=result.is_lower_better),
    )


def _merit(row: IdeaRow, result: RunResult) -> tuple[bool, int, float, int]:
    scores = [d.best.validation for d in row.drafts if d.best is not None and d.best.validation is not None]
    best = max((result.oriented(s) for s in scores), default=0.0)
    return row.evidence.live, 2 if scores else 1 if row.drafts else 0, best, -row.id


def _draft(row: Draft, nodes: Sequence[NodeRow], report: Report | None, result: RunResult, limit: int) -> DraftRow:
    own = [n for n in nodes if n.draft_id == row.id]
    scored = [n for n in own if n.validation is not None]
    return DraftRow(
        id=row.id,
        round=row.round,
        title=shortened(row.title, LONGEST_TITLE),
        description=shortened(row.description, limit),
        ideas=tuple(row.idea_ids),
        codebase_node=row.codebase_node,
        aim=row.aim,
        share=row.share,
        nodes=tuple(n.id for n in own),
        best=max(scored, key=lambda n: (result.oriented(n.validation or 0.0), -n.id), default=None),
        report=report,
    )


def source_of(session: Session, competition: str, item: str, reports: Mapping[str, Report]) -> Source:
    """Return an item as a page names it; a missing one keeps only its id."""
    kind, _, id = item.partition("/")
    key = (competition, id)
    if kind == "report" and id in reports:
        return Source(item, shortened(reports[id].title, LONGEST_TITLE), link=f"#report-{id}")
    if kind == "kernel" and (kernel := session.get(KernelVersion, key)) is not None:
        version = "" if kernel.version is None else f" (version {kernel.version})"
        title = shortened(kernel.title or kernel.ref, LONGEST_TITLE) + version
        return Source(item, title, kernel.author, kernel.created_at, web_link(kernel.url))
    if kind == "topic" and (topic := session.get(Topic, key)) is not None:
        return Source(item, shortened(topic.title, LONGEST_TITLE), topic.author, topic.posted_at, web_link(topic.url))
    if kind == "message" and (message := session.get(Message, key)) is not None:
        return _message(session, item, message)
    return Source(shortened(item, LONGEST_TITLE), "")


def _message(session: Session, item: str, message: Message) -> Source:
    topic = session.get(Topic, (message.competition, message.topic_id))
    title = "" if topic is None else shortened(topic.title, LONGEST_TITLE)
    link = None if topic is None else web_link(topic.url)
    return Source(item, title, message.author, message.edited_at or message.posted_at, link)
