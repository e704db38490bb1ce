"""The record of a run: its rows as values, read from one state of the database, as far as they may be known."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Self, TypeVar

from sqlalchemy import func
from sqlmodel import Session, col, select

from bot.engine.experiment import Experiment, experiments_in
from bot.engine.lab_turns import TurnText, command_of, lab_mark, lab_turns
from bot.engine.tree import SEPARATE
from bot.evaluation.answers import Gain, NodeScore
from bot.execution.folder import lower_is_better
from bot.execution.guarding import FINDINGS
from bot.execution.record import DEBUG, EXECUTED, GUARDED, IDLE_ENDED, IDLE_STARTED, ExecutionRecord, last_execution
from state.clock_advances import ClockAdvance, clock_advances
from state.errors import UsageError
from state.knowledge import DerivedT, known_rows
from state.latest_events import latest
from state.ledgers import worked_seconds
from state.steps import read_steps
from state.store import read_blob
from state.submissions import CONSIDERED, submissions_of
from state.tables import (
    Analysis,
    Draft,
    Event,
    Execution,
    Idea,
    Lab,
    LedgerEntry,
    ModelCall,
    Node,
    Report,
    Reproduction,
    Run,
    Step,
    Submission,
)
from state.words import iso

_RowT = TypeVar("_RowT", Execution, Lab, LedgerEntry, Node)
_NEWS = " [news] "
"""Prefix of a line of news, after the lab's mark, in what a coder sees of a command."""
_PHASES = {"reading": "reading", "guards:": "checking", "final selection": "selection", "refit": "refit"}
"""Phases by the prefixes of unfinished steps."""
_CALLS = {"plan": "planning", "pick": "choosing posts", "substeps": "splitting the plan", "write": "writing"}
"""What a node's author is at, by the names of its steps; others are `substep 2: 1`, with the number of the rewrite."""
VIEWS = {
    "sample": "a sample",
    "holdout": "the hold-out view",
    "full": "all data",
    "swap": "the pseudo-test view",
    "rehearsal": "the rows of the notebook check",
    "rehearsal-few": "a few rows of the notebook check",
}
_IDLE_EVENTS = 40
"""Latest events of idle work, among them the starts of all that is unfinished."""
_SELF_REPORTED = (
    "no labels could be withheld, so its scores are self-reported: scripts print them, and they are not verified"
)


@dataclass(frozen=True)
class Pool:
    """The size of a run's pools."""

    analyses: int = 0
    """Each of one post."""
    ideas: int = 0
    drafts: int = 0
    reports: int = 0


@dataclass(frozen=True)
class NodeCounts:
    """A run's scripts counted by status, and its best candidate for submission, ensembles included."""

    running: int = 0
    valid: int = 0
    buggy: int = 0
    """Their code failed."""
    failed: int = 0
    """The engine failed."""
    best: int | None = None
    """Node; None: there is none, or the metric's direction is unknown."""
    best_score: float | None = None

    @property
    def all(self) -> int:
        """How many there are."""
        return self.running + self.valid + self.buggy + self.failed


@dataclass(frozen=True)
class Doing:
    """Work in progress: a node, a lab's turn, or the engine's own work, such as what it runs in idle time."""

    node: int | None
    """Without an execution its script is being written, or scored; None: no node."""
    action: str
    """The kind of work, or the command that a coder typed."""
    since: str
    """ISO time in UTC of the start: that of the execution, command or call if there is one, else the node's."""
    execution: str | None = None
    view: str | None = None
    lab: int | None = None

    @property
    def subject(self) -> str:
        """What is at work: a node, a lab, or the engine itself."""
        return f"node {self.node}" if self.node is not None else "engine" if self.lab is None else f"lab {self.lab}"

    @property
    def activity(self) -> str:
        """The kind of work, with the view of its execution."""
        return self.action + (f", runs on {VIEWS[self.view]}" if self.view else "")

    @property
    def sentence(self) -> str:
        """Subject and activity."""
        return f"{self.subject}: {self.activity}"


@dataclass(frozen=True)
class Doubt:
    """A guard's warning about one node's validation run, or about the data."""

    time: datetime
    node: int | None
    """None: the data."""
    sentence: str


@dataclass(frozen=True)
class LabStory:
    """One lab and its conversation."""

    row: Lab
    experiments: tuple[Experiment, ...]
    turns: tuple[TurnText, ...]
    news: tuple[str, ...]
    """News while it was open, as its coder saw it."""


class RunRecord:
    """One run, read without writing, each value once.

    It lasts as long as its session. With `as_of` it hides what was derived from later posts, and the nodes that depend on it.
    It never contains the score on the internal test, unless it was loaded as `final`, after the run's end.
    """

    def __init__(self, session: Session, row: Run, as_of: datetime | None = None, *, final: bool = False) -> None:
        self.row, self.as_of = row, as_of
        self.id = row.id
        self.lower_is_better = lower_is_better(row.config)
        """Whether lower scores are better, by the task spec; None: unknown."""
        self._session = session
        self._final = final

    @classmethod
    def load(cls, session: Session, run_id: str, as_of: datetime | None = None, *, final: bool = False) -> Self:
        """Return a run's record. Raises UsageError if the database does not know the run."""
        if (row := session.get(Run, run_id)) is None:
            raise UsageError(f"run {run_id} not found in the database")
        return cls(session, row, as_of, final=final)

    def oriented(self, score: float) -> float:
        """Return a score turned so that higher is better."""
        return -score if self.lower_is_better else score

    def seconds(self, time: datetime) -> float:
        """Return a time as seconds of the run, without its downtime."""
        return worked_seconds(self.row.gaps, self.row.created_at, time)

    def text(self, sha256: str | None) -> str:
        """Return a stored script or log; empty without a hash."""
        return "" if sha256 is None else read_blob(self._session, sha256).decode("utf-8", "replace")

    @cached_property
    def nodes(self) -> Mapping[int, Node]:
        """All nodes by number, in order."""
        visible: dict[int, Node] = {}
        rows = self._rows(Node, Node.id)
        if self.as_of is None:
            return {row.id: row for row in rows}
        later = select(Draft.id).where(Draft.run_id == self.id, Draft.known_at > self.as_of)
        hidden_drafts = set(self._session.exec(later))
        for row in rows:
            if row.draft_id not in hidden_drafts and visible.keys() >= set(row.parents):
                visible[row.id] = row
        return visible

    def pick_nodes(self, ids: Sequence[int]) -> list[Node]:
        """Return some of its nodes, in order, without reading the others."""
        if self.as_of is not None or "nodes" in vars(self):
            return [self.nodes[id] for id in sorted(ids) if id in self.nodes]
        query = select(Node).where(Node.run_id == self.id, col(Node.id).in_(ids)).order_by(col(Node.id))
        return list(self._session.exec(query))

    @cached_property
    def scripts(self) -> Sequence[Node]:
        """The nodes that are neither ensembles nor public notebooks."""
        return [row for row in self.nodes.values() if row.action not in SEPARATE]

    @cached_property
    def executions(self) -> Sequence[Execution]:
        """The executions of its nodes, in the order of their start."""
        rows = self._rows(Execution, Execution.started_at)
        return rows if self.as_of is None else [row for row in rows if row.node in self.nodes]

    def last_log(self, node: int) -> str:
        """Return the output of a node's last execution; empty if none is stored."""
        query = select(Execution.log_sha).where(Execution.run_id == self.id, Execution.node == node)
        query = query.where(col(Execution.log_sha).is_not(None)).order_by(col(Execution.started_at).desc())
        return self.text(self._session.exec(query).first())

    def reasons(self, nodes: Sequence[int] | None = None) -> Mapping[int, str | None]:
        """Return the exit reasons of nodes' last executions, without those on all rows; None: of all nodes."""
        query = select(Execution.node, Execution.reason).where(Execution.run_id == self.id, Execution.view != "full")
        query = query if nodes is None else query.where(col(Execution.node).in_(nodes))
        return dict(self._session.exec(query.order_by(col(Execution.started_at))).all())

    @cached_property
    def labs(self) -> Sequence[Lab]:
        """Its labs by number."""
        return self._rows(Lab, Lab.id)

    @cached_property
    def experiments(self) -> Sequence[Experiment]:
        """The experiments of labs and the engine, in the order of their nodes."""
        experiments = experiments_in(self._session, self.id)
        visible = [e for e in experiments if self.as_of is None or e.node in self.nodes]
        return visible if self._final else [replace(e, result=replace(e.result, internal_test=None)) for e in visible]

    @cached_property
    def scores(self) -> Mapping[int, NodeScore]:
        """The scores of scripts' hold-out runs by node, with the guards' findings, without experiments."""
        steps = read_steps(self._session, self.id, EXECUTED, (GUARDED,))
        scores = {key.node: execution.score for key, execution in steps.items() if execution.score is not None}
        return {n: self._mask(score) for n, score in scores.items() if self.as_of is None or n in self.nodes}

    @cached_property
    def gains(self) -> Mapping[int, Gain]:
        """The paired gain of each script and experiment that has a reference, by node."""
        gains = {experiment.node: experiment.result.gain for experiment in self.experiments}
        gains |= {node: score.gain for node, score in self.scores.items()}
        return {node: gain for node, gain in gains.items() if gain is not None}

    @cached_property
    def typical_noise(self) -> float | None:
        """The median standard error of its scores; None: none is known."""
        errors = [score.std_error for score in self.scores.values() if score.std_error is not None]
        return statistics.median(errors) if errors else None

    def execution_of(self, node: int) -> ExecutionRecord | None:
        """Return a node's hold-out run, an experiment in its place, or else the last debug run."""
        execution = last_execution(self._session, self.id, node)
        if execution is None or execution.score is None:
            return execution
        return execution.model_copy(update={"score": self._mask(execution.score)})

    def _mask(self, score: NodeScore) -> NodeScore:
        return score if self._final else replace(score, final=None)

    @cached_property
    def analyses(self) -> Sequence[Analysis]:
        """Its analyses of posts."""
        return self._derived(Analysis)

    @cached_property
    def ideas(self) -> Sequence[Idea]:
        """Its pool of ideas by number; one that was closed later is still live."""
        return self._derived(Idea)

    @cached_property
    def drafts(self) -> Sequence[Draft]:
        """Its drafts."""
        return self._derived(Draft)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """The drafts' titles by id."""
        return {row.id: row.title for row in self.drafts}

    @cached_property
    def reports(self) -> Sequence[Report]:
        """The reports on drafts, by number."""
        return sorted(self._derived(Report), key=lambda row: (len(row.id), row.id))

    @cached_property
    def kernels(self) -> Sequence[Reproduction]:
        """The public notebooks that were run here, or recognised as unable to run."""
        return self._derived(Reproduction)

    @cached_property
    def submissions(self) -> Sequence[Submission]:
        """Its submissions, intended ones too, by number."""
        return submissions_of(self._session, self.id)

    @cached_property
    def charges(self) -> Sequence[LedgerEntry]:
        """Its spending, in the order of writing."""
        return self._rows(LedgerEntry, LedgerEntry.pk)

    @cached_property
    def clock_advances(self) -> Sequence[ClockAdvance]:
        """The moves of its clock, oldest first."""
        return clock_advances(self._session, self.id)

    def items_shown(self, role: str) -> list[tuple[str, int]]:
        """Return each item in the prompts of a role, with the node of the call."""
        query = select(ModelCall.node, ModelCall.items).where(ModelCall.run_id == self.id, ModelCall.role == role)
        calls = self._session.exec(query)
        return [(item["id"], node) for node, items in calls if node is not None for item in items]

    def events(self, type: str) -> Sequence[Event]:
        """Return the events of one type, oldest first."""
        query = select(Event).where(Event.run_id == self.id, Event.type == type).order_by(col(Event.seq))
        return self._session.exec(query).all()

    def lab(self, row: Lab, after: int = 0) -> LabStory:
        """Return one of its labs, with the turns after one of them."""
        turns = tuple(lab_turns(self._session, self.id, row.id, after))
        mark = f"{lab_mark(self._session, self.id, row.id)}{_NEWS}"
        lines = (line for turn in turns for line in turn.observation.splitlines() if line.startswith(mark))
        experiments = tuple(experiment for experiment in self.experiments if experiment.lab == row.id)
        return LabStory(row, experiments, turns, tuple(line.removeprefix(mark) for line in lines))

    # The following is read for many runs at once, so the database counts instead of returning rows.

    @cached_property
    def pool(self) -> Pool:
        """The size of its pools."""
        queries = [select(func.count()).where(table.run_id == self.id) for table in (Analysis, Idea, Draft, Report)]
        queries[1] = queries[1].where(Idea.state == "live")
        return Pool(*(self._session.exec(query).one() for query in queries))

    @cached_property
    def counts(self) -> NodeCounts:
        """Its scripts by status, and the best node."""
        scripts = select(Node.status, func.count()).where(Node.run_id == self.id, col(Node.action).not_in(SEPARATE))
        rows = self._session.exec(scripts.group_by(Node.status)).all()
        fields: dict[str, int] = {status: count for status, count in rows if status in NodeCounts.__dataclass_fields__}
        best = None
        if self.lower_is_better is not None:
            order = col(Node.score).asc() if self.lower_is_better else col(Node.score).desc()
            query = select(Node.id, Node.score).where(Node.run_id == self.id, col(Node.score).is_not(None))
            query = query.where(Node.action != "reproduce")
            best = self._session.exec(query.order_by(order, col(Node.id)).limit(1)).first()
        return NodeCounts(**fields, best=best[0] if best else None, best_score=best[1] if best else None)

    @cached_property
    def _unfinished_steps(self) -> Sequence[Step]:
        """The steps that this start of the bot has not finished, oldest first."""
        start = latest(self._session, self.id, ("run.created", "run.resumed"))
        query = select(Step).where(Step.run_id == self.id, Step.status == "started").order_by(col(Step.started_at))
        return [step for step in self._session.exec(query) if start is None or step.started_at >= start.at]

    @cached_property
    def phase(self) -> str:
        """The phase of its work, in a word."""
        if self.row.status != "running":
            return "writing"
        for prefix, phase in _PHASES.items():
            if any(step.name.startswith(prefix) for step in self._unfinished_steps):
                return phase
        return "search" if self.counts.all else "preparing"

    @cached_property
    def doing(self) -> tuple[Doing, ...]:
        """Work in progress: nodes, each with its running execution, labs, and the engine's own work."""
        return (*self._nodes_at_work(), *self._labs_at_work(), *self._engine_work())

    def _labs_at_work(self) -> Iterator[Doing]:
        """Yield the work of each open lab: its coder's command, or its model's reply."""
        steps = {step.node: step for step in self._unfinished_steps if step.name.startswith(("lab.turn", "turn:"))}
        for lab in self.labs if steps else ():
            if lab.ended_at is None and (step := steps.get(lab.id)) is not None:
                action = "waiting for its model"
                if step.name == "lab.turn":
                    action = command_of(self._session, self.id, lab.id, step.attempt) or "its coding agent is working"
                yield Doing(None, action, iso(step.started_at), lab=lab.id)

    def _engine_work(self) -> Iterator[Doing]:
        for step in self._unfinished_steps:
            if step.name == "blend":
                yield Doing(None, "fits the ensemble", iso(step.started_at))
        query = select(Event).where(Event.run_id == self.id, col(Event.type).in_((IDLE_STARTED, IDLE_ENDED)))
        events = self._session.exec(query.order_by(col(Event.seq).desc()).limit(_IDLE_EVENTS)).all()
        open_work = {event.data["name"]: event for event in reversed(events)}
        start = latest(self._session, self.id, ("run.created", "run.resumed"))
        for name, event in open_work.items():
            if event.type == IDLE_STARTED and (start is None or event.seq > start.seq):
                yield Doing(None, name, iso(event.at))

    def _work_on_scripts(self) -> dict[int, tuple[str, datetime]]:
        """Return what each node's author is doing, and since when: a call that has not ended, or the substep that is run."""
        steps = select(Step).where(Step.run_id == self.id, Step.node > 0).order_by(col(Step.started_at))
        is_open = (col(Step.status) == "started") & col(Step.name).in_(_CALLS)
        work = {}
        for step in self._session.exec(steps.where(is_open | col(Step.name).startswith("substep "))):
            name, _, rewrite = step.name.partition(": ")
            suffix = f", rewrite {rewrite}" if rewrite not in ("", "0") else ""
            work[step.node] = f"{_CALLS.get(name, name)}{suffix}", step.started_at
        return work

    def _nodes_at_work(self) -> Iterator[Doing]:
        calls = self._work_on_scripts()
        running = select(Execution).where(Execution.run_id == self.id, col(Execution.reason).is_(None))
        executions = {row.node: row for row in self._session.exec(running)}
        nodes = select(Node.id, Node.action, Node.created_at).where(Node.run_id == self.id)
        nodes = nodes.where((col(Node.status) == "running") | col(Node.id).in_(executions)).order_by(col(Node.id))
        for id, action, created_at in self._session.exec(nodes):
            call, call_start = calls.get(id, ("", created_at))
            call_action = f"{action}, {call}" if call else action
            if (execution := executions.get(id)) is not None:
                action = call_action if execution.view == DEBUG else action
                yield Doing(id, action, iso(execution.started_at), execution.id, execution.view)
            else:
                yield Doing(id, call_action, iso(call_start))

    @cached_property
    def dated_scores(self) -> Sequence[tuple[datetime, float]]:
        """Each score of a candidate for submission, with its time, earliest first."""
        query = select(Node.ended_at, Node.score).where(Node.run_id == self.id, Node.status == "valid")
        query = query.where(Node.action != "reproduce", col(Node.score).is_not(None), col(Node.ended_at).is_not(None))
        rows = self._session.exec(query.order_by(col(Node.ended_at), col(Node.id)))
        return [(time, score) for time, score in rows if time is not None and score is not None]

    def best_over_time(self, until: datetime | None = None) -> list[tuple[datetime, float]]:
        """Return each new best validation score with its time, earliest first; none if the metric's direction is unknown."""
        bests: list[tuple[datetime, float]] = []
        for time, score in () if self.lower_is_better is None else self.dated_scores:
            if (until is None or time <= until) and (not bests or self.oriented(score) > self.oriented(bests[-1][1])):
                bests.append((time, score))
        return bests

    def doubts(self, count: int = 3) -> tuple[Doubt, ...]:
        """Return the guards' latest warnings, latest first; before them, that its scores are self-reported."""
        query = select(Event).where(Event.run_id == self.id, Event.type == FINDINGS).order_by(col(Event.seq).desc())
        rows = self._session.exec(query.limit(count))
        doubts = [Doubt(row.at, row.node, str(row.data["sentence"])) for row in rows]
        last = self.last_event("node.ended")
        if last is not None and last.data.get("self_reported"):
            doubts.insert(0, Doubt(last.at, None, _SELF_REPORTED))
        return tuple(doubts)

    @property
    def considered(self) -> Mapping[str, str]:
        """The reason of each submission, by its number."""
        data = [event.data for event in self.events(CONSIDERED) if event.data["submission"] is not None]
        return {decision["submission"]: decision["reason"] for decision in reversed(data)}  # the first one counts

    def last_event(self, type: str) -> Event | None:
        """Return the last event of a type; None: there is none."""
        return latest(self._session, self.id, (type,))

    def _rows(self, table: type[_RowT], order: Any) -> Sequence[_RowT]:
        return self._session.exec(select(table).where(table.run_id == self.id).order_by(order)).all()

    def _derived(self, table: type[DerivedT]) -> Sequence[DerivedT]:
        return known_rows(self._session, table, self.id, self.as_of)
