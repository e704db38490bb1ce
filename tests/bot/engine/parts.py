"""A run for the tests of a search: everything is real, but nothing of it needs to be executed."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from pathlib import Path

from pydantic import BaseModel

from bot.agents.builtin import baseline_script
from bot.engine.budget import RunBudget
from bot.engine.context import RunContext
from bot.engine.decisions import Decisions
from bot.engine.experiments import ExperimentLog
from bot.engine.fits import PortfolioFits
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.evaluation.view_names import Withholding
from bot.execution.executor import Executor, ExecutorSettings
from bot.execution.folder import RunFolder
from bot.execution.leasing import RunLeases
from bot.execution.machine import this_machine
from bot.execution.stopwatch import Stopwatch
from bot.models import Model
from bot.models.ask import Asker
from bot.models.recordings import RecordedModel
from sandbox import Limits, Sandbox
from sandbox.leases import Leases
from sandbox.process import ProcessSandbox
from scrapers.posts.ingest import ingest
from scrapers.snapshots.snapshot import Snapshot
from state.clock import Clock, ReplayClock
from state.community import CommunityView
from state.progress import create_node, end_node
from state.steps import Steps
from state.store import Store
from state.tables import Run
from tests.scrapers.in_process import Here
from tests.state.rows import create_run
from tests.tiny_snapshot import write_tiny

RUN = "run"


@asynccontextmanager
async def opened(folder: Path, steps: int, *, baseline: bool = True, labs: bool = False) -> AsyncIterator[RunContext]:
    """Give a run without a community, whose baseline has ended unless it has not begun; one in the folder goes on."""
    if not (folder / "tiny").is_dir():
        write_tiny(folder / "tiny")
    snapshot = Snapshot.load(folder / "tiny", METRIC_DIRECTIONS)
    clock, model = ReplayClock(snapshot.card.deadline), RecordedModel(folder)
    about = opened_on(snapshot, folder, steps, clock, model, baseline=baseline, community=False, labs=labs)
    async with about as context:
        yield context


@asynccontextmanager
async def opened_on(
    snapshot: Snapshot,
    folder: Path,
    steps: int | None,
    clock: Clock,
    model: Model,
    *,
    baseline: bool = True,
    community: bool = True,
    settings: Sequence[BaseModel] = (),
    say: Callable[[str], None] = lambda line: None,
    sandbox: Sandbox | None = None,
    seconds: float = 600.0,
    cpus: int = 1,
    worker: Worker | None = None,
    labs: bool = False,
) -> AsyncIterator[RunContext]:
    """Give a run on a snapshot, with its community, whose executions have so many cores; one in the folder goes on.

    Its worker is its own unless one is given, whose libraries may be loaded already. With labs it takes experiments.
    """
    run, locks, stopwatch = RunFolder(folder / "run"), folder / "locks", Stopwatch()
    sandbox = sandbox or ProcessSandbox()
    slug = snapshot.card.slug
    for path in (run.path, locks):
        path.mkdir(parents=True, exist_ok=True)
    with Store.open(run.database, clock) as store:
        with store.read() as session:
            known = session.get(Run, RUN) is not None
        if not known:
            if community:
                await ingest(store, slug, snapshot.community.posts(snapshot.path, slug), Here())
            with store.write() as tx:
                create_run(tx, RUN, competition=slug, agent="comind", model="m", seed=0, cutoff=None)
                if baseline:
                    create_node(tx, RUN, action="draft", id=1, plan="the safe baseline")
                    end_node(tx, RUN, 1, "valid", score=0.5)
        rows = Steps(store, RUN)
        async with aclosing(Worker()) if worker is None else nullcontext(worker) as scorer:
            leasing = RunLeases(Leases(locks), cpus, 0, lambda: 60.0, stopwatch, lambda line: None)
            withholding: Withholding = "lab" if labs else "script"
            keeps_weights = snapshot.card.kind == "code"
            limits = ExecutorSettings(
                snapshot.data, 0, 1, Limits(60.0), withholding=withholding, keeps_weights=keeps_weights
            )
            executor = Executor(RUN, snapshot.card, run, limits, store, rows, sandbox, scorer, stopwatch, leasing)
            decisions, scored = Decisions(rows), asyncio.Event()
            log = None
            if labs:
                log = ExperimentLog(RUN, snapshot.card, 0, store, decisions, executor, scorer, "m", scored.set)
                log.restore()
            yield RunContext(
                run_id=RUN,
                card=snapshot.card,
                seed=0,
                agent_settings=settings,
                baseline=baseline_script,
                store=store,
                steps=rows,
                decisions=decisions,
                clock=clock,
                asker=Asker(model, store, RUN, clock, rows),
                model_name="m",
                executor=executor,
                budget=RunBudget(stopwatch, seconds, steps, labs=labs),
                machine=this_machine(Limits(60.0), sandbox.describe()),
                preview="",
                community_at=(lambda as_of: CommunityView(store, slug, as_of)) if community else None,
                say=say,
                new_score=scored,
                experiments=log,
                fits=None if log is None else PortfolioFits(log, rows, seconds, say),
            )
