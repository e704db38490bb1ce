"""Lessons of the bot's own finished runs: what gained and what did not, by paired differences on withheld rows.

They are made by code from a run's database alone: its reports and its nodes. Graded answers lie in result.json and with the site,
and neither is read.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from bot.community.ideas.evidence import WHOLE_DRAFT
from bot.engine.results import results
from bot.engine.run_record import RunRecord
from bot.execution.task import shown_description
from bot.knowledge.entry import Entry, EntrySource
from bot.knowledge.labels import labels_in
from bot.models.quoting import line
from scrapers.snapshots.card import TaskCard
from state.clock import Clock
from state.errors import UsageError
from state.knowledge import reports
from state.store import Store
from state.tables import Event, Report, Run

DATABASE = "state.db"
_BEYOND_NOISE = 2.0
"""Standard errors by which a difference is beyond noise."""
_MAX_LINES = 6
"""Comparisons of each kind that a lesson names, the clearest first."""
_NODES = re.compile(r"node \d+ over node \d+$")
_ANY_TASK = ("method/tuning",)
"""Labels of a lesson whose task names none."""


@dataclass(frozen=True)
class MeasuredEffect:
    """A measured difference that a change made."""

    name: str
    gain: float
    """Above 0 is better, whatever the metric's sign."""
    error: float
    """Standard error of the gain."""

    @property
    def clearness(self) -> float:
        """The difference in standard errors."""
        return self.gain / self.error


def lessons_of(path: Path, clock: Clock) -> list[Entry]:
    """Return the lessons of the finished runs of a run's folder, or of the live bot's database; one a run.

    A run in which nothing was compared teaches nothing.

    Raises:
        UsageError: it is neither.
    """
    database = path / DATABASE if path.is_dir() else path
    if not database.is_file():
        raise UsageError(f"{path} is neither a run folder nor a bot database")
    with Store.open_to_read(database, clock) as store:
        with store.read() as session:
            runs = session.exec(select(Run).where(Run.status == "finished").order_by(col(Run.created_at))).all()
        return [entry for run in runs if run.config.get("card") and (entry := _lesson(store, run, path)) is not None]


def _lesson(store: Store, run: Run, path: Path) -> Entry | None:
    card = TaskCard.model_validate(run.config["card"])
    end_time = _end_time(store, run)
    # A replay adds nothing later about the world than what it could know; before its competition is over none of it is told.
    known_at = max(run.cutoff or end_time, card.deadline)
    effects = list(_measured_effects(store, run, card, known_at))
    if not effects:
        return None
    name = re.sub(r"[^a-z0-9]+", "-", f"lesson-{run.competition}".lower())[:60].strip("-")
    text = "\n".join((card.title, card.metric.name, shown_description(card.description)))
    return Entry(
        id=f"{name}-{hashlib.sha256(run.id.encode()).hexdigest()[:8]}",
        kind="lesson",
        title=f"What helped and what did not on {line(card.title, 100)}",
        labels=tuple(labels_in(text)) or _ANY_TASK,
        known_at=known_at,
        competitions=(run.competition.lower(),),
        sources=(EntrySource(title=f"Run {run.id}", path=path.name, licence="own work"),),
        support="measured",
        evidence=f"{len(effects)} paired differences on the validation rows of one run ({run.agent}, seed {run.seed}).",
        claim=_claim(card, effects),
    )


def _end_time(store: Store, run: Run) -> datetime:
    with store.read() as session:
        last = session.exec(
            select(Event.at).where(Event.run_id == run.id, Event.type == "run.ended").order_by(col(Event.seq).desc())
        ).first()
    return last or run.created_at


def _measured_effects(store: Store, run: Run, card: TaskCard, known_at: datetime) -> Iterator[MeasuredEffect]:
    seen_gains = set[tuple[float, float]]()
    for report in reports(store, run.id, known_at):
        for part in report.components:
            if isinstance(part, dict) and part.get("gain") is not None and part.get("gain_error"):
                seen_gains.add((part["gain"], part["gain_error"]))
                yield MeasuredEffect(line(_effect_name(report, part), 300), part["gain"], part["gain_error"])
    with store.read() as session:
        run_results = results(RunRecord(session, run))
    for result in run_results:
        gain = result.score.gain if result.score else None
        if gain is not None and gain.std_error and (gain.value, gain.std_error) not in seen_gains:
            yield MeasuredEffect(line(f"{result.action}: {result.title}", 300), gain.value, gain.std_error)


def _effect_name(report: Report, part: Mapping[str, Any]) -> str:
    """Return what a component changed, without the numbers of nodes, which mean nothing elsewhere."""
    if part.get("name") == WHOLE_DRAFT:
        return f"draft '{report.title}' compared with the script it builds on"
    name = "" if _NODES.match(part.get("name") or "") else part.get("name")
    return ": ".join(filter(None, (name, part.get("analysis")))) or report.title


def _claim(card: TaskCard, effects: Sequence[MeasuredEffect]) -> str:
    clearest = sorted(effects, key=lambda e: -abs(e.clearness))
    groups = {
        "Gained beyond noise:": [e for e in clearest if e.clearness > _BEYOND_NOISE],
        "Lost beyond noise:": [e for e in clearest if e.clearness < -_BEYOND_NOISE],
        "No difference beyond noise:": [e for e in clearest if abs(e.clearness) <= _BEYOND_NOISE][::-1],
    }
    lines = [f"Metric: {card.metric.name}. Differences above 0 are better; ± is one standard error."]
    for heading, group in groups.items():
        if group:
            lines += ["", heading, *(f"- {e.gain:+.3g} ± {e.error:.2g}: {e.name}" for e in group[:_MAX_LINES])]
    return "\n".join(lines)
