"""A run's services, for replays and live runs."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel

from bot.budgets.levels import Level
from bot.engine.attempts import read_tree
from bot.engine.budget import RunBudget
from bot.engine.context import RunContext
from bot.engine.decisions import Decisions
from bot.engine.experiments import ExperimentLog
from bot.engine.fits import PortfolioFits
from bot.engine.notebook_check import due_check_seconds
from bot.engine.results import refits_due
from bot.engine.settings import RunSettings
from bot.engine.strategy import Script
from bot.engine.tree import TreeCache
from bot.evaluation.answers.blends import uncombined
from bot.evaluation.client.worker import Worker
from bot.evaluation.view_names import Withholding
from bot.execution.executor import Executor, ExecutorSettings
from bot.execution.folder import RunFolder
from bot.execution.leasing import RunLeases
from bot.execution.machine import this_machine
from bot.execution.stopwatch import Stopwatch
from bot.execution.task import OwnerNote, TaskText, shown_description
from bot.knowledge.base import KnowledgeBase
from bot.knowledge.embeddings import open_similarity
from bot.knowledge.entry import ITEM
from bot.knowledge.retrieval import Retriever, TaskQuery
from bot.models import CallLimits, Model
from bot.models.ask import Asker
from bot.models.open_model import open_model, record_change
from bot.models.recordings import RecordingWriter
from bot.models.settings import ModelSettings
from bot.models.usefulness import Usefulness
from bot.notebooks.limits import NotebookLimits
from bot.weights.folder import WeightsFolder, weights_line
from sandbox import Sandbox
from sandbox.leases import Leases
from scrapers.snapshots.card import TaskCard
from state.clock import Clock
from state.community import CommunityView
from state.steps import Steps
from state.store import Store

_MOST_WAITING, _WAITING_SHARE = 30.0, 0.05
"""Limits on how long a run on own data waits for cores before it shares one: seconds, and a share of its time."""
_BLENDER_NICE = 10
"""About a tenth of a core beside a busy command of a lab."""
_BLENDER_IDLE = 60.0
"""Seconds without a blend to fit after which its worker is ended."""


@dataclass(frozen=True)
class RuleBasedParts:
    """The rule-based model, and the script that every run starts with."""

    model: Callable[[int], Model]
    baseline: Callable[[TaskText, str], Script]
    """Writes the baseline, from the task and the preview of its data."""
    simple: Callable[..., tuple[Script, ...]] = lambda task, *, by_time: ()
    """Writes the simple models that a result on own data is compared with; the first replaces the baseline."""


@dataclass(frozen=True)
class SharedServices:
    """The services that the runs of one process share."""

    sandbox: Sandbox
    leases: Leases
    models: ModelSettings
    worker: Worker
    builtin: RuleBasedParts


@dataclass(frozen=True)
class RunPlan:
    """A run in the store, and its inputs."""

    id: str
    card: TaskCard
    data: Path
    folder: RunFolder
    settings: RunSettings
    community_at: Callable[[datetime], CommunityView] | None = None
    notes: Callable[[], tuple[OwnerNote, ...]] = field(default=tuple)
    agent_settings: Sequence[BaseModel] = ()
    """Settings of its agent, which the engine passes on."""
    notebook_limits: NotebookLimits = field(default_factory=NotebookLimits)
    board: Callable[[], Sequence[float]] = tuple
    labs: bool = False
    own_data: bool = False
    """Whether the data is the user's own, for a script that predicts new rows."""
    withholding: Withholding = "script"
    """How many labelled rows are withheld: fewer if the run's coder works in labs."""
    spare_baseline: bool = False
    """Whether the baseline is submitted only if the agent has nothing else."""


@asynccontextmanager
async def open_context(
    plan: RunPlan,
    services: SharedServices,
    store: Store,
    clock: Clock,
    spending: Level,
    budget: RunBudget,
    stopwatch: Stopwatch,
    say: Callable[[str], None],
) -> AsyncIterator[RunContext]:
    """Open a run's model, executor and asker, and close them afterwards.

    Raises:
        UsageError: the configuration cannot work (no key, an unknown price under a cap).
        UnsupportedLayout: the competition's data cannot be split.
        InfrastructureFailure: the evaluator cannot work at all.
    """
    settings, card, models = plan.settings, plan.card, services.models
    steps = Steps(store, plan.id)
    limits = settings.limits
    weights = WeightsFolder(settings.weights) if settings.weights else None
    pretrained = weights.available(clock.as_of()) if weights else []
    mounts = weights.mounts(pretrained) if weights else {}
    grader = plan.folder.grader if plan.folder.grader.is_file() else None
    shared = ExecutorSettings(
        plan.data,
        settings.split_seed,
        settings.cpus,
        limits,
        settings.watch,
        mounts,
        grader,
        plan.board,
        plan.withholding,
        keeps_weights=plan.own_data or card.kind == "code",
    )
    choice = replace(models.resolve(settings.model), roles=settings.roles)
    sandbox, leases = services.leases.placing(services.sandbox)
    back_end = sandbox.describe()
    async with AsyncExitStack() as stack:
        model_access = await stack.enter_async_context(
            open_model(
                choice,
                models,
                clock,
                builtin=lambda: services.builtin.model(settings.seed),
                max_cost=settings.budget_of_all.money(settings.budget),
                on_change=record_change(store, plan.id, say),
                say=lambda line: say(f"model: {line}"),
            )
        )
        asker = Asker(
            model_access.model,
            store,
            plan.id,
            clock,
            steps,
            budget=spending,
            in_flight=settings.calls_in_flight,
            limits=CallLimits(max_tokens=models.section.max_tokens),
            estimate=model_access.estimate,
            recorder=RecordingWriter(settings.record) if settings.record else None,
            timeless_kinds=frozenset((ITEM,) if settings.knowledge == "all" else ()),
            timed=lambda: stopwatch.measure("model"),
            usefulness=None
            if choice.kind == "builtin"
            else Usefulness(store, plan.id, one_model=len(choice.models) == 1),
        )
        stack.push_async_callback(asker.settle)
        max_waiting = min(_MOST_WAITING, _WAITING_SHARE * budget.seconds) if plan.own_data else math.inf
        leasing = RunLeases(
            leases, settings.cpus, settings.gpus, budget.seconds_left, stopwatch, say, limits.memory_bytes, max_waiting
        )
        executor = Executor(
            plan.id, card, plan.folder, shared, store, steps, sandbox, services.worker, stopwatch, leasing, spending
        )
        # A separate worker, so that no score and no command of a lab waits for a blend.
        blender = await stack.enter_async_context(aclosing(Worker(idle_seconds=_BLENDER_IDLE, nice=_BLENDER_NICE)))
        similarity = await stack.enter_async_context(open_similarity(settings.knowledge_base, settings.weights, say))
        holdout = await executor.view("holdout")
        suspicious = [finding.sentence for finding in await executor.check_data() if finding.verdict == "suspicious"]
        with stopwatch.measure("views"):
            preview = await services.worker.preview(holdout.data, card, holdout.labels, suspicious)
        if executor.self_reported is not None:
            say(f"cannot withhold labels, so scores are self-reported by scripts: {executor.self_reported}")
        blends = settings.blend and executor.self_reported is None
        if blends and card.kind == "code" and (spaces := uncombined(card)) is not None:
            say(f"no ensemble: a notebook cannot combine predictions by {spaces}")
            blends = False
        simple: tuple[Script, ...] = ()
        if plan.own_data:
            task = TaskText.from_card(card, stores_models=True)
            simple = services.builtin.simple(task, by_time=executor.views.split_kind == "time")
        tree_cache, decisions = TreeCache(plan.spare_baseline), Decisions(steps, max(1, len(simple)))

        def due() -> int:
            best = read_tree(store, plan.id, card.lower_is_better, tree_cache).best()
            return refits_due(store, plan.id, None if best is None else best.id)

        workers = [services.worker]
        budget = replace(budget, growth=executor.views.growth, refits=due, labs=plan.labs)
        budget = replace(budget, slowness=lambda: max(worker.slowness for worker in workers))
        if blends and card.kind == "code":
            budget = replace(budget, notebook_check=lambda: due_check_seconds(store, decisions, steps, plan.id))
        new_score = asyncio.Event()
        experiments = None
        if plan.labs and executor.self_reported is None:
            # A separate worker, so that coders do not wait for answers.
            scorer = await stack.enter_async_context(aclosing(Worker(idle_seconds=_BLENDER_IDLE)))
            workers.append(scorer)
            experiments = ExperimentLog(
                plan.id, card, settings.seed, store, decisions, executor, scorer, settings.model, new_score.set
            )
            experiments.restore()
        knowledge = None
        if settings.knowledge != "none":
            base = KnowledgeBase.read(settings.knowledge_base.folder)
            for problem in base.problems:
                say(f"skipped a knowledge base entry: {problem}")
            query = TaskQuery(card.slug, card.title, shown_description(card.description), card.metric.name, preview)
            knowledge = Retriever(query, base, similarity, asker, steps, plan.id, clock, say, settings.knowledge)
        machine = this_machine(limits, back_end, settings.gpus, leases.gpu_models, elsewhere=leases is not leases.here)
        yield RunContext(
            run_id=plan.id,
            card=card,
            seed=settings.seed,
            store=store,
            steps=steps,
            clock=clock,
            asker=asker,
            model_name=settings.model,
            executor=executor,
            budget=budget,
            machine=replace(machine, weights=tuple(map(weights_line, pretrained))),
            preview=preview,
            tree_cache=tree_cache,
            decisions=decisions,
            community_at=plan.community_at,
            say=say,
            slots=settings.parallel,
            spending=spending,
            notes=plan.notes,
            notebook_limits=plan.notebook_limits,
            agent_settings=plan.agent_settings,
            baseline=(lambda *_: simple[0]) if simple else services.builtin.baseline,
            simple=simple[1:],
            blender=blender if blends else None,
            new_score=new_score,
            experiments=experiments,
            fits=None if experiments is None else PortfolioFits(experiments, steps, budget.seconds, say),
            own_data=plan.own_data,
            knowledge=knowledge,
            similarity=similarity,
        )
