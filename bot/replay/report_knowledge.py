"""Ideas with their sources, drafts and reports of a run, joined with how they scored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session, col, select

from bot.replay.report_nodes import NodeRow
from bot.replay.report_result import RunResult
from bot.replay.report_words import shortened, web_link
from state.tables import Draft, Idea, KernelVersion, Message, Report, Topic

LONGEST_TITLE = 200
LONGEST_TEXT = 6_000


@dataclass(frozen=True)
class Source:
    """What an idea was made of: a post, or a report of the run itself."""

    item: str
    """Such as `message/233009`."""
    title: str
    author: str | None = None
    time: datetime | None = None
    link: str | None = None
    """A web address (http or https), or a place on the page."""


@dataclass(frozen=True)
class ReportRow:
    """What came of a draft."""

    id: str
    title: str
    method: str
    components: tuple[tuple[str, str], ...]
    """Name and analysis of each."""
    numbers: str
    limitations: str
    next_steps: str
    best_node: int | None
    score: float | None


@dataclass(frozen=True)
class DraftRow:
    """A draft with its nodes, the best of them by validation score, and its report if one was written."""

    id: str
    round: int
    title: str
    description: str
    ideas: tuple[int, ...]
    codebase_report: str | None
    nodes: tuple[int, ...]
    best: NodeRow | None
    report: ReportRow | None


@dataclass(frozen=True)
class IdeaRow:
    """An idea, where it came from, and the drafts that used it."""

    id: int
    text: str
    sources: tuple[Source, ...]
    drafts: tuple[DraftRow, ...]


@dataclass(frozen=True)
class Knowledge:
    """All that a run learned; ideas whose drafts scored best come first, unused ones last."""

    ideas: tuple[IdeaRow, ...]
    drafts: tuple[DraftRow, ...]
    other_reports: tuple[ReportRow, ...]
    """Reports that belong to no draft, such as the baseline's."""


def read_knowledge(session: Session, result: RunResult, nodes: Sequence[NodeRow]) -> Knowledge:
    """Read what a run learned."""
    run_id = result.run_id
    reports = [_report(r) for r in session.exec(select(Report).where(Report.run_id == run_id))]
    of_draft = {
        r.draft_id: r.id for r in session.exec(select(Report).where(Report.run_id == run_id)) if r.draft_id is not None
    }
    by_id = {r.id: r for r in reports}
    drafts = tuple(
        _draft(draft, nodes, by_id.get(of_draft.get(draft.id, "")), result)
        for draft in session.exec(select(Draft).where(Draft.run_id == run_id).order_by(col(Draft.created_at)))
    )
    ideas = session.exec(select(Idea).where(Idea.run_id == run_id).order_by(col(Idea.id))).all()
    sources = _sources(session, result.competition_id, {s for idea in ideas for s in idea.sources}, by_id)
    rows = [_idea(idea, drafts, sources) for idea in ideas]
    taken = set(of_draft.values())
    return Knowledge(
        ideas=tuple(sorted(rows, key=lambda row: _merit(row, result), reverse=True)),
        drafts=drafts,
        other_reports=tuple(r for r in reports if r.id not in taken),
    )


def _merit(row: IdeaRow, result: RunResult) -> tuple[int, float, int]:
    scores = [d.best.validation for d in row.drafts if d.best is not None and d.best.validation is not None]
    best = max((result.oriented(s) for s in scores), default=0.0)
    return 2 if scores else 1 if row.drafts else 0, best, -row.id


def _report(row: Report) -> ReportRow:
    return ReportRow(
        id=row.id,
        title=shortened(row.title, LONGEST_TITLE),
        method=shortened(row.method, LONGEST_TEXT),
        components=tuple(_component(c) for c in row.components),
        numbers=shortened(row.numbers, LONGEST_TEXT),
        limitations=shortened(row.limitations, LONGEST_TEXT),
        next_steps=shortened(row.next_steps, LONGEST_TEXT),
        best_node=row.best_node,
        score=row.score,
    )


def _component(value: Any) -> tuple[str, str]:
    if isinstance(value, Mapping):
        return str(value.get("name", "")), shortened(str(value.get("analysis", "")), LONGEST_TEXT)
    return "", shortened(str(value), LONGEST_TEXT)


def _draft(row: Draft, nodes: Sequence[NodeRow], report: ReportRow | None, result: RunResult) -> DraftRow:
    own = [n for n in nodes if n.draft_id == row.id]
    scored = [n for n in own if n.validation is not None]
    return DraftRow(
        id=row.id,
        round=row.round,
        title=shortened(row.title, LONGEST_TITLE),
        description=shortened(row.description, LONGEST_TEXT),
        ideas=tuple(row.idea_ids),
        codebase_report=row.codebase_report,
        nodes=tuple(n.id for n in own),
        best=max(scored, key=lambda n: (result.oriented(n.validation or 0.0), -n.id), default=None),
        report=report,
    )


def _idea(row: Idea, drafts: Sequence[DraftRow], sources: Mapping[str, Source]) -> IdeaRow:
    return IdeaRow(
        id=row.id,
        text=shortened(row.text, LONGEST_TEXT),
        sources=tuple(sources[item] for item in row.sources),
        drafts=tuple(d for d in drafts if row.id in d.ideas),
    )


def _sources(
    session: Session, competition: str, items: set[str], reports: Mapping[str, ReportRow]
) -> dict[str, Source]:
    """Look up each source; one that is not found keeps its name alone."""
    return {item: _source(session, competition, item, reports) for item in items}


def _source(session: Session, competition: str, item: str, reports: Mapping[str, ReportRow]) -> Source:
    kind, _, id = item.partition("/")
    key = (competition, id)
    if kind == "report" and id in reports:
        return Source(item, reports[id].title, link=f"#report-{id}")
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
