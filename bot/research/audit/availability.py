"""When each item that a prompt may hold became known: posts by the snapshot, derived items by their rows and sources."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlmodel import Session, select

from bot.knowledge.retrieval import SHOWN
from state.store import Store
from state.tables import Analysis, Draft, Event, Idea, KernelVersion, Node, PostedMessage, Report, Reproduction, Topic
from state.words import iso

Times = Mapping[str, datetime | None]
"""Times by item; None: unknown."""


def true_times(store: Store, run_id: str, competition: str) -> Times:
    """Return when each post and each derived item of a run became known."""
    times: dict[str, datetime | None] = {}
    with store.read() as session:
        for topic in session.exec(select(Topic).where(Topic.competition == competition)):
            times[f"topic/{topic.id}"] = topic.posted_at
        for message in session.exec(select(PostedMessage).where(PostedMessage.competition == competition)):
            times_known = [t for t in (message.posted_at, message.edited_at) if t is not None]
            times[f"message/{message.id}"] = max(times_known) if message.posted_at is not None else None
        for kernel in session.exec(select(KernelVersion).where(KernelVersion.competition == competition)):
            times[f"kernel/{kernel.id}"] = kernel.created_at
        for name, known_at, _ in _derived(session, run_id):
            times[name] = known_at
        for entry in entries_shown(session, run_id):
            times[entry["id"]] = datetime.fromisoformat(entry["known_at"])
        for node in session.exec(select(Node).where(Node.run_id == run_id)):
            times[f"node/{node.id}"] = None
    return times


def entries_shown(session: Session, run_id: str) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of the knowledge base that a run's searches found: `id`, `known_at`, `competitions`."""
    for event in session.exec(select(Event).where(Event.run_id == run_id, Event.type == SHOWN)):
        yield from event.data["entries"]


def derived_too_early(store: Store, run_id: str, times: Times) -> list[str]:
    """Return a sentence for each derived item that is dated before one of its sources."""
    sentences = []
    with store.read() as session:
        for name, known_at, sources in _derived(session, run_id):
            for source in sources:
                true = times.get(source)
                if true is not None and true > known_at:
                    sentences.append(f"{name} is of {iso(known_at)}, but was made of {source}, which is of {iso(true)}")
    return sentences


def _derived(session: Session, run_id: str) -> Iterator[tuple[str, datetime, Sequence[str]]]:
    """Yield item, time and sources."""
    for analysis in session.exec(select(Analysis).where(Analysis.run_id == run_id)):
        yield f"analysis/{analysis.id}", analysis.known_at, [analysis.id, *analysis.posts]
    kernels = session.exec(select(Reproduction).where(Reproduction.run_id == run_id)).all()
    for reproduction in kernels:
        yield f"reproduction/{reproduction.id}", reproduction.known_at, [reproduction.id]
    for idea in session.exec(select(Idea).where(Idea.run_id == run_id)):
        yield f"idea/{idea.id}", idea.known_at, idea.sources
        if idea.closed_at is not None:
            places = [f"idea/{number}" for number in (idea.id, *idea.successors)]
            yield f"idea/{idea.id} as {idea.state}", idea.closed_at, places
    reports = session.exec(select(Report).where(Report.run_id == run_id)).all()
    for draft in session.exec(select(Draft).where(Draft.run_id == run_id)):
        extended = [f"report/{report.id}" for report in reports if report.best_node == (draft.codebase_node or 0)]
        extended += [reproduction.id for reproduction in kernels if reproduction.node == (draft.codebase_node or 0)]
        yield f"draft/{draft.id}", draft.known_at, [*(f"idea/{number}" for number in draft.idea_ids), *extended]
    for report in reports:
        yield f"report/{report.id}", report.known_at, [f"draft/{report.draft_id}"] if report.draft_id else []
