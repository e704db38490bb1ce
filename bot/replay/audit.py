"""The audit: proof from a run's files that no prompt held anything newer than its clock, and no label."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from bot.replay.foreign import known_texts, later_texts
from bot.replay.labels import LabelRows
from bot.runs.folder import RunFolder
from scrapers.snapshot import Snapshot
from state.store import Store, iso
from state.tables import Analysis, Draft, Idea, KernelVersion, Message, ModelCall, Node, Report, Topic

NOT_DATED = ("node",)
"""Items that a run makes by itself: they are known when they are made."""


@dataclass(frozen=True)
class Audit:
    """What an audit found; it passes with no finding and at least one prompt."""

    prompts: int
    items: int
    posts_after_clock: int
    """Posts of the snapshot that were written after the clock, whose words were looked for in every prompt."""
    label_rows: int
    """Rows of hidden answers that were looked for."""
    findings: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was found."""
        return not self.findings


def audit_run(folder: RunFolder, store: Store, snapshot: Snapshot, run_id: str, cutoff: datetime) -> Audit:
    """Check every prompt of a run.

    Each prompt must be in the database as it is in the file; each item must have its true time, at or before the
    prompt's clock, which must be the run's; no prompt may hold the words of a later post, or a row of the answers.
    """
    findings: list[str] = []
    prompts = list(_read_lines(folder.prompts, findings))
    findings += _against_database(prompts, store, run_id)
    times = _true_times(store, run_id, snapshot)
    late = later_texts(snapshot, cutoff)
    labels = LabelRows.read(snapshot).without_what_is_public(known_texts(snapshot, cutoff))
    items = 0
    for number, prompt in enumerate(prompts, 1):
        where = f"prompts.jsonl:{number}"
        findings += [f"{where}: {problem}" for problem in _clock_problems(prompt, times, cutoff)]
        text = "\n".join(str(m.get("content", "")) for m in prompt.get("messages", ()))
        findings += [f"{where}: holds words of {post}, which is later than the clock" for post in late.found_in(text)]
        findings += [f"{where}: holds the hidden answer of row {row!r}" for row in labels.found_in(text)]
        items += len(prompt.get("items", ()))
    if not prompts:
        findings.append("prompts.jsonl: the run has no prompts, so nothing is proved")
    return Audit(len(prompts), items, len(late), len(labels), tuple(findings))


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
    """Compare the file with the log of record: the same calls, with the same words and items."""
    with store.read() as session:
        calls = session.exec(select(ModelCall).where(ModelCall.run_id == run_id).order_by(col(ModelCall.seq))).all()
    findings = []
    if len(calls) != len(prompts):
        findings.append(f"prompts.jsonl: {len(prompts)} prompts, but the database has {len(calls)} model calls")
    for number, (prompt, call) in enumerate(zip(prompts, calls, strict=False), 1):
        where = f"prompts.jsonl:{number}"
        messages = json.dumps(prompt.get("messages"), ensure_ascii=False).encode("utf-8", "surrogatepass")
        if hashlib.sha256(messages).hexdigest() != call.messages_sha:
            findings.append(f"{where}: its messages are not those of the database ({call.step})")
        if (
            prompt.get("step") != call.step
            or prompt.get("items") != call.items
            or prompt.get("as_of") != iso(call.as_of)
        ):
            findings.append(f"{where}: step, items or clock are not those of the database ({call.step})")
    return findings


def _true_times(store: Store, run_id: str, snapshot: Snapshot) -> dict[str, datetime | None]:
    """Return when each thing became known: posts by the snapshot's own rows in the database, derived ones by their rows."""
    times: dict[str, datetime | None] = {}
    slug = snapshot.card.slug
    with store.read() as session:
        for topic in session.exec(select(Topic).where(Topic.competition == slug)):
            times[f"topic/{topic.id}"] = topic.posted_at
        for message in session.exec(select(Message).where(Message.competition == slug)):
            known = [t for t in (message.posted_at, message.edited_at) if t is not None]
            times[f"message/{message.id}"] = max(known) if message.posted_at is not None else None
        for kernel in session.exec(select(KernelVersion).where(KernelVersion.competition == slug)):
            times[f"kernel/{kernel.id}"] = kernel.created_at
        for idea in session.exec(select(Idea).where(Idea.run_id == run_id)):
            times[f"idea/{idea.id}"] = idea.known_at
        for report in session.exec(select(Report).where(Report.run_id == run_id)):
            times[f"report/{report.id}"] = report.known_at
        for draft in session.exec(select(Draft).where(Draft.run_id == run_id)):
            times[f"draft/{draft.id}"] = draft.known_at
        for analysis in session.exec(select(Analysis).where(Analysis.run_id == run_id)):
            times[f"analysis/{analysis.id}"] = analysis.known_at
        for node in session.exec(select(Node).where(Node.run_id == run_id)):
            times[f"node/{node.id}"] = None
    return times


def _clock_problems(prompt: Mapping[str, Any], times: Mapping[str, datetime | None], cutoff: datetime) -> Iterator[str]:
    as_of = _time(prompt.get("as_of"))
    if as_of is None or as_of != cutoff:
        yield f"its clock {prompt.get('as_of')!r} is not the run's ({iso(cutoff)})"
    for item in prompt.get("items", ()):
        name, said = str(item.get("id")), _time(item.get("time"))
        if name not in times:
            yield f"{name} is in neither the snapshot nor the run"
            continue
        true = times[name]
        if name.split("/")[0] in NOT_DATED:
            continue
        if true is None:
            yield f"{name} has no time, so it may never be shown"
        elif true > cutoff:
            yield f"{name} is of {iso(true)}, later than the clock"
        elif said != true:
            yield f"{name} is of {iso(true)}, but the prompt says {item.get('time')!r}"


def _time(text: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return time if time.tzinfo is not None else None
