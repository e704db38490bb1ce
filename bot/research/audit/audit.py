"""The audit: proof from a run's files that no prompt held labels, or anything later than its clock."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from bot.engine.tree import BASELINE
from bot.execution.folder import RunFolder
from bot.knowledge.entry import ITEM
from bot.knowledge.retrieval import KNOWLEDGE_SHOWN
from bot.replay.settings import ReplaySettings
from bot.research.audit.fingerprints import Fingerprints, LabelRows, known_texts
from scrapers.snapshots.snapshot import Snapshot
from state.clock_advances import clock_advances
from state.store import Store
from state.tables import (
    Analysis,
    CommunityRow,
    Draft,
    Event,
    Execution,
    Idea,
    KernelVersion,
    ModelCall,
    Node,
    PostedMessage,
    Report,
    Reproduction,
    Topic,
)
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
    for event in session.exec(select(Event).where(Event.run_id == run_id, Event.type == KNOWLEDGE_SHOWN)):
        yield from event.data["entries"]


def derived_too_early(store: Store, run_id: str, times: Times) -> list[str]:
    """Return a sentence for each derived item that is dated before one of its sources."""
    with store.read() as session:
        return [
            f"{name} is dated {iso(known_at)}, but is based on {source}, dated {iso(time)}"
            for name, known_at, sources in _derived(session, run_id)
            for source in sources
            if (time := times.get(source)) is not None and time > known_at
        ]


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


@dataclass(frozen=True)
class Clocks:
    """All times that a run's clock showed."""

    stood_at: frozenset[datetime]
    """Every time that it was set to."""
    at_call: dict[int, datetime]
    """The clock's time when each call was recorded, by the call's number."""
    problems: tuple[str, ...] = ()
    """Moves back, or too far."""

    @classmethod
    def read(cls, store: Store, run_id: str, settings: ReplaySettings, start: datetime) -> "Clocks":
        """Read the times; without `--pace stream` the clock stays at the cutoff."""
        types = ("clock.moved", "model.called")
        of_run = select(Event).where(Event.run_id == run_id, col(Event.type).in_(types)).order_by(col(Event.seq))
        with store.read() as session:
            moves, events = clock_advances(session, run_id), session.exec(of_run).all()
        clock_time = start if settings.pace == "stream" else settings.cutoff
        stood_at, at_call, problems = {clock_time}, {}, []
        in_events = [datetime.fromisoformat(event.data["as_of"]) for event in events if event.type == "clock.moved"]
        if in_events != [move.as_of for move in moves]:
            problems.append("the database and the events record different clock changes")
        if in_events and settings.pace != "stream":
            problems.append("the clock moved although it is fixed in this run")
            events = [event for event in events if event.type == "model.called"]
        for event in events:
            if event.type == "model.called":
                at_call[event.data["call"]] = clock_time
                continue
            new_time = datetime.fromisoformat(event.data["as_of"])
            if not clock_time <= new_time <= settings.cutoff:
                problems.append(
                    f"the clock moved backward or past {iso(settings.cutoff)}: from {iso(clock_time)} to {iso(new_time)}"
                )
            clock_time = new_time
            stood_at.add(new_time)
        return cls(frozenset(stood_at), at_call, tuple(problems))

    def problem(self, as_of: datetime | None, call: int) -> str | None:
        """Return the problem with the clock of the n-th call's prompt, counted from 1; None: there is none."""
        limit = self.at_call.get(call)
        if as_of is None or as_of not in self.stood_at or limit is None:
            return f"does not match the run's ({', '.join(map(iso, sorted(self.stood_at)))})"
        if as_of > limit:
            return f"is later than the run's clock at that call, {iso(limit)}"
        return None


@dataclass(frozen=True)
class Audit:
    """An audit's result; it passes with no finding and at least one prompt."""

    prompts: int
    items: int
    posts_after_clock: int
    """Posts of the snapshot that are later than some prompt's clock, for whose words prompts were searched."""
    label_rows: int
    """Rows of hidden answers that prompts were searched for."""
    findings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def audit_run(
    folder: RunFolder,
    store: Store,
    snapshot: Snapshot,
    rows: Sequence[CommunityRow],
    run_id: str,
    settings: ReplaySettings,
) -> Audit:
    """Check every prompt of a run.

    Each prompt in the file must match the database; its clock must be the run's at that time, which never moves back; each
    item must have its true time, at or before the prompt's clock; no prompt may hold the words of a post that is later than
    its clock, or a row of the answers. No idea, draft or report may be dated before its sources. `rows` are the snapshot's
    community, cleaned.
    """
    findings: list[str] = []
    prompts = list(_read_lines(folder.prompts, findings))
    findings += _against_database(prompts, store, run_id)
    clocks = Clocks.read(store, run_id, settings, snapshot.card.enabled_at)
    times = true_times(store, run_id, snapshot.card.slug)
    findings += [*clocks.problems, *derived_too_early(store, run_id, times)]
    findings += _knowledge_problems(store, run_id, snapshot.card.slug, settings)
    timeless_kinds = frozenset((ITEM,) if settings.knowledge == "all" else ())
    words = Fingerprints.read(snapshot, rows)
    labels = LabelRows.read(snapshot).without_what_is_public(known_texts(snapshot, rows, settings.cutoff))
    items = 0
    for number, (prompt, own_words) in enumerate(zip(prompts, _own_words(store, run_id, words), strict=False), 1):
        location, as_of = f"prompts.jsonl:{number}", _time(prompt.get("as_of"))
        if problem := clocks.problem(as_of, number):
            findings.append(f"{location}: its clock {prompt.get('as_of')!r} {problem}")
        # A prompt without a valid clock is checked against the latest time that the clock can have had.
        as_of = settings.cutoff if as_of is None else min(as_of, settings.cutoff)
        findings += [f"{location}: {problem}" for problem in _item_problems(prompt, times, as_of, timeless_kinds)]
        text = "\n".join(str(m.get("content", "")) for m in prompt.get("messages", ()))
        late_posts = words.found_in(text, as_of, own_words)
        findings += [f"{location}: contains words from {post}, published after that prompt" for post in late_posts]
        findings += [f"{location}: contains the hidden answer for row {row!r}" for row in labels.found_in(text)]
        items += len(prompt.get("items", ()))
    if not prompts:
        findings.append("prompts.jsonl: the run has no prompts, so nothing could be checked")
    hidden = words.later_than(min(clocks.at_call.values(), default=settings.cutoff))
    return Audit(len(prompts), items, hidden, len(labels), tuple(findings))


def _own_words(store: Store, run_id: str, words: Fingerprints) -> Iterator[Set[str]]:
    """Yield for each model call the shingles that it may hold because the run itself had produced them before.

    These are earlier answers, and scripts with their output, which had no other sources: a later post with the same lines
    of code proves nothing. A leak must appear in some prompt before it appears in an answer.
    """
    with store.read() as session:
        answers = session.exec(
            select(ModelCall.answer_sha).where(ModelCall.run_id == run_id).order_by(col(ModelCall.seq))
        ).all()
        logs = session.exec(select(Execution.log_sha).where(Execution.run_id == run_id)).all()
        first = session.get(Node, (run_id, BASELINE))
    own_words: set[str] = set()
    for sha in (*logs, first.code_sha if first else None):
        if sha is not None:
            own_words |= words.shingles_in(store.blob(sha).decode("utf-8", "replace"))
    for sha in answers:
        yield own_words
        own_words |= words.shingles_in(store.blob(sha).decode("utf-8", "replace"))
    # The file may hold more prompts than the database has calls.
    while True:
        yield own_words


def _read_lines(path: Path, findings: list[str]) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        findings.append(f"{path.name}: the file is missing")
        return
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                findings.append(f"{path.name}:{number}: not JSON ({error})")
                continue
            if isinstance(value, dict):
                yield value
            else:
                findings.append(f"{path.name}:{number}: not an object")


def _against_database(prompts: Sequence[Mapping[str, Any]], store: Store, run_id: str) -> list[str]:
    """Compare the file with the log of record: the same calls, with the same messages and items."""
    with store.read() as session:
        calls = session.exec(select(ModelCall).where(ModelCall.run_id == run_id).order_by(col(ModelCall.seq))).all()
    findings = []
    if len(calls) != len(prompts):
        findings.append(f"prompts.jsonl: {len(prompts)} prompts, but the database has {len(calls)} model calls")
    for number, (prompt, call) in enumerate(zip(prompts, calls, strict=False), 1):
        location = f"prompts.jsonl:{number}"
        messages = json.dumps(prompt.get("messages"), ensure_ascii=False).encode("utf-8", "surrogatepass")
        if hashlib.sha256(messages).hexdigest() != call.messages_sha:
            findings.append(f"{location}: the messages differ from those in the database ({call.step})")
        if (
            prompt.get("step") != call.step
            or prompt.get("items") != call.items
            or prompt.get("as_of") != iso(call.as_of)
        ):
            findings.append(f"{location}: the step, items or clock time differ from the database ({call.step})")
    return findings


def _item_problems(
    prompt: Mapping[str, Any], times: Times, as_of: datetime, timeless_kinds: frozenset[str]
) -> Iterator[str]:
    for item in prompt.get("items", ()):
        name, shown_time = str(item.get("id")), _time(item.get("time"))
        if name not in times:
            yield f"{name} is in neither the snapshot nor the run"
            continue
        true_time, kind = times[name], name.split("/")[0]
        if kind == "node":
            continue  # The run itself creates nodes: they are known from then on.
        if true_time is None:
            yield f"{name} has no date, so it must never be shown"
        elif true_time > as_of and kind not in timeless_kinds:
            yield f"{name} is dated {iso(true_time)}, but the clock was at {iso(as_of)}"
        elif kind == "topic" and shown_time is not None and true_time <= shown_time <= as_of:
            continue  # A topic is of its latest message that was read, and each of these is checked where it is shown.
        elif shown_time != true_time:
            yield f"{name} is dated {iso(true_time)}, but its date in the prompt is {item.get('time')!r}"


def _knowledge_problems(store: Store, run_id: str, competition: str, settings: ReplaySettings) -> Iterator[str]:
    """Yield entries of the knowledge base that the run should not have seen, whatever their time."""
    with store.read() as session:
        shown_entries = list(entries_shown(session, run_id))
    if shown_entries and settings.knowledge == "none":
        yield f"the run must not use the knowledge base, but a prompt contains {shown_entries[0]['id']}"
    for id in sorted({entry["id"] for entry in shown_entries if competition in entry["competitions"]}):
        yield f"{id} was extracted from {competition}, the competition of this run"


def _time(text: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
