"""A live run on the small competition whose nodes are made by hand, and the stand-in site that it submits to."""

import csv
import random
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
from sqlmodel import col, select

from bot.agents.builtin import baseline_script
from bot.budgets.levels import Level, unbounded
from bot.configuration.competition import CompetitionSettings
from bot.engine.budget import RunBudget
from bot.engine.context import RunContext
from bot.engine.decisions import Decisions
from bot.evaluation.answers import LabelledView, NodeScore
from bot.evaluation.answers.findings import GuardFinding, guard_passed
from bot.evaluation.client.worker import Worker
from bot.evaluation.scoring.score import score_execution
from bot.evaluation.views.build import build_view
from bot.execution.executor import Executor, ExecutorSettings
from bot.execution.folder import RunFolder
from bot.execution.leasing import RunLeases
from bot.execution.machine import this_machine
from bot.execution.record import EXECUTED, ExecutionRecord
from bot.execution.stopwatch import Stopwatch
from bot.models.ask import Asker
from bot.models.recordings import RecordedModel
from bot.simulator.site.faults import Faults
from bot.simulator.site.settings import SiteSettings
from bot.submission import Submitter
from bot.submission.kaggle import KaggleSubmitter, NotebookSubmitter
from bot.submission.policy import Decision
from bot.submission.submission_service import SubmissionService
from sandbox import ExitReason, Limits, Sandbox
from sandbox.leases import Leases
from sandbox.process import ProcessSandbox
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Timeouts
from scrapers.posts.duplicates import note_sketches, sketched
from scrapers.posts.sketches import sketch_of
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock
from state.community_rows import add_community
from state.progress import create_node, end_node
from state.series import take_reading
from state.steps import Key, Steps, finish_step, start_step
from state.store import Store
from state.submissions import submissions_of
from state.tables import Event, KernelVersion, Notification, Submission
from tests.bot.simulator.site.parts import START, HandClock, Served, served, tiny
from tests.bot.submission.kaggle_site import AT_ONCE
from tests.state.derive import from_events, from_rows
from tests.state.rows import create_run

RUN = "tiny_table-aide-builtin-0-20200110T120000Z"
SENDING = CompetitionSettings(submit=True, rules_read=True)
HONEST = guard_passed("too good", "it is not")
GRADED = SiteSettings(grading_seconds=(1.0, 2.0))


KERNEL = "\n".join(
    f"frame['sum_{n}'] = frame['a{n}'] + frame['b{n}'] * {n} - np.log1p(frame['c{n}'].clip(0, {n + 1}))"
    for n in range(40)
)


def add_kernel(
    store: Store, competition: str, text: str = KERNEL, *, id: str = "21", ref: str = "ann/strong", days: int = 0
) -> None:
    """Store a public script as a poll does."""
    at = store.clock.now() + timedelta(days=days)
    row = KernelVersion(competition=competition, id=id, ref=ref, created_at=at, kind="script", text=text)
    with store.write() as tx:
        add_community(tx, competition, [row])
        note_sketches(tx, competition, [sketched(row, sketch_of(text, "kernel", "script"))])


@dataclass(frozen=True)
class Ground:
    """The competition on disk with its views, made once; tests work on copies."""

    snapshot: Snapshot
    run: Path


def ground(folder: Path, **changes: Any) -> Ground:
    """Make it, with some fields of the snapshot's manifest changed."""
    snapshot = tiny(folder, **changes)
    run = RunFolder(folder / "run")
    run.make()
    for view in ("holdout", "full"):
        build_view(snapshot.data, snapshot.card, view, 0, run.views / view, run.evaluator / view)
    # Making a database takes longer than most tests.
    with Store.open(run.path / "bot.db", HandClock(START)) as store, store.write() as tx:
        create_run(tx, RUN, competition=snapshot.card.slug, agent="aide", model="builtin", seed=0, cutoff=None)
    return Ground(snapshot, run.path)


@dataclass
class Live:
    """A live run, and the site."""

    context: RunContext
    run: RunFolder
    folder: Path
    site: Served
    submitter: Submitter
    worker: Worker
    answers: dict[str, str]
    client: KaggleClient
    told: list[str] = field(default_factory=list)

    @property
    def clock(self) -> Any:
        return self.context.clock

    @property
    def store(self) -> Store:
        return self.context.store

    def service(
        self,
        settings: CompetitionSettings = SENDING,
        submitter: Submitter | None = None,
        owner_clock: Clock | None = None,
    ) -> SubmissionService:
        client = self.client if self.context.takes_notebooks else None
        submitter = submitter or self.submitter
        return SubmissionService(
            self.context, self.folder, settings, submitter, self.worker, client=client, owner_clock=owner_clock
        )

    async def send_best(self, settings: CompetitionSettings = SENDING) -> SubmissionService:
        """Have a new service consider the best node and send its file, if that may go; return the service."""
        service = self.service(settings)
        await service.consider()
        await service.send()
        return service

    def node(
        self,
        id: int,
        quality: float,
        code: str | None = None,
        *,
        test: float | None = None,
        found: GuardFinding = HONEST,
    ) -> float:
        """Make a node whose predictions are that close to the truth (on the test rows `test`), from 0 to 1; returns its score."""
        with self.store.write() as tx:
            create_node(tx, RUN, action="draft", id=id, code=code or f"print({id})")
        labels = {row["id"]: row["label"] for row in rows(self.run.evaluator / "holdout" / "labels.csv")}
        rng = random.Random(id)
        for view in ("holdout", "full"):
            out = self.run.executions / f"n{id}-{view}-0"
            out.mkdir(parents=True)
            write(out / "submission.csv", guessed(self.answers, quality if test is None else test, rng))
            if view == "holdout":
                write(out / "validation_predictions.csv", guessed(labels, quality, rng))
        score = self._scored(self.run.executions / f"n{id}-holdout-0")
        for view in ("holdout", "full"):
            execution = ExecutionRecord(
                id=f"n{id}-{view}-0",
                view=view,
                reason=ExitReason.FINISHED,
                seconds=1.0,
                limit=60.0,
                output="",
                fine=True,
                score=NodeScore(score, guards=(found,)),
                fault=None,
                error=None,
            )
            with self.store.write() as tx:
                start_step(tx, RUN, EXECUTED, Key(id, view))
                finish_step(tx, RUN, EXECUTED, execution, Key(id, view))
        with self.store.write() as tx:
            end_node(tx, RUN, id, "valid", score=score)
        return score

    def _scored(self, out: Path) -> float:
        view, labels = self.run.views / "holdout", self.run.evaluator / "holdout"
        files = (out / "validation_predictions.csv", out / "submission.csv")
        found = score_execution(LabelledView(view, labels, self.context.card), *files)
        assert found.valid, found
        return found.score.value

    def submissions(self) -> list[Submission]:
        with self.store.read() as session:
            return submissions_of(session, RUN)

    def states(self) -> list[tuple[int, str]]:
        return [(row.node, row.status) for row in self.submissions()]

    def events(self, type: str) -> list[Event]:
        with self.store.read() as session:
            return list(
                session.exec(select(Event).where(Event.run_id == RUN, Event.type == type).order_by(col(Event.seq)))
            )

    def notices(self, kind: str) -> list[Notification]:
        with self.store.read() as session:
            return list(
                session.exec(select(Notification).where(Notification.kind == kind).order_by(col(Notification.id)))
            )

    def read(self, kind: Any, name: str = "", content: str | None = None, **data: Any) -> None:
        """Store what a poll would have read."""
        with self.store.write() as tx:
            take_reading(tx, self.context.card.slug, kind, name, data, content=content)

    def assert_events_match_rows(self) -> None:
        derived, truth = from_events(self.store.export_events(RUN)), from_rows(self.store, RUN)
        assert (derived.submissions, derived.approvals, derived.ledger) == (
            truth.submissions,
            truth.approvals,
            truth.ledger,
        )


@asynccontextmanager
async def live(
    ground: Ground,
    folder: Path,
    worker: Worker,
    *,
    settings: SiteSettings = GRADED,
    at: datetime = START,
    spending: Level | None = None,
    sandbox: Sandbox | None = None,
    faults: Faults | None = None,
) -> AsyncIterator[Live]:
    """Open a copy of the ground as a live run, and serve the site."""
    run, locks = RunFolder(folder / "run"), folder / "locks"
    folder.mkdir(exist_ok=True)
    shutil.copytree(ground.run, run.path)
    locks.mkdir()
    async with AsyncExitStack() as stack:
        site = stack.enter_context(served(ground.snapshot, settings, faults, at=at, sandbox=sandbox))
        store = stack.enter_context(Store.open(run.path / "bot.db", site.clock))
        timeouts = Timeouts(read=5.0, total=20.0, backoff=1.0)
        section = KaggleSection(url=f"{site.client.url}/v1", pace=AT_ONCE, timeouts=timeouts)
        key = Credentials(site.site.settings.token)
        # Without certificates, which take a while to load, and are of no use on loopback.
        http = await stack.enter_async_context(httpx2.AsyncClient(verify=False, timeout=5.0))
        client = KaggleClient(http, lambda: key, site.clock, Tally(), section)
        about = (client, ground.snapshot.card.slug, "submission.csv")
        submitter = KaggleSubmitter(*about)
        if ground.snapshot.card.kind == "code":
            submitter = NotebookSubmitter(*about, store, RUN)
        context = run_context(ground.snapshot.card, run, locks, store, worker, spending, ground.snapshot.data)
        here = folder / "competition"
        here.mkdir()
        answers = {row["id"]: row["label"] for row in rows(ground.snapshot.answers)}
        yield Live(context, run, here, site, submitter, worker, answers, client)


async def decide(service: SubmissionService) -> Decision:
    """Return what a service decides, which must be something."""
    decision = await service.consider()
    assert decision is not None
    return decision


def run_context(
    card: TaskCard,
    folder: RunFolder,
    locks: Path,
    store: Store,
    worker: Worker,
    spending: Level | None,
    data: Path,
    run_id: str = RUN,
) -> RunContext:
    sandbox, stopwatch, clock = ProcessSandbox(), Stopwatch(), store.clock
    steps = Steps(store, run_id)
    leasing = RunLeases(Leases(locks), 1, 0, lambda: 600.0, stopwatch, print)
    limits = ExecutorSettings(data, 0, 1, Limits(60.0))
    executor = Executor(run_id, card, folder, limits, store, steps, sandbox, worker, stopwatch, leasing)
    return RunContext(
        run_id=run_id,
        card=card,
        seed=0,
        baseline=baseline_script,
        store=store,
        steps=steps,
        decisions=Decisions(steps),
        clock=clock,
        asker=Asker(RecordedModel(folder.path), store, run_id, clock, steps),
        model_name="recorded",
        executor=executor,
        budget=RunBudget(stopwatch, 600.0, None),
        machine=this_machine(Limits(60.0), sandbox.describe()),
        preview="",
        community_at=None,
        say=print,
        spending=spending or unbounded(),
    )


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, predicted: dict[str, float]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *((id, f"{chance:.6f}") for id, chance in predicted.items())])


def guessed(labels: dict[str, str], quality: float, rng: random.Random) -> dict[str, float]:
    """Return probabilities around .5 for a quality of 0, and near the truth for one of 1."""
    sure = {id: 0.9 * quality + 0.05 * rng.random() for id in labels}
    return {id: 0.5 + (int(label) - 0.5) * sure[id] for id, label in labels.items()}
