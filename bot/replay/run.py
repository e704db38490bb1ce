"""One replay, from a prepared folder to its result; one that was stopped or killed is resumed where it was."""

import asyncio
import signal
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from sqlmodel import col, select

from bot.agents import open_agent
from bot.agents.builtin import BUILT_IN
from bot.budgets.run_budget import open_budget, wall_limit
from bot.engine.budget import RunBudget
from bot.engine.context import RunContext
from bot.engine.heartbeat import last_heartbeat, record_heartbeats
from bot.engine.search import SolutionSearch
from bot.engine.services import RunPlan, SharedServices, open_context
from bot.evaluation.client.worker import Worker
from bot.execution.stopwatch import Stopwatch
from bot.models.settings import ModelSettings
from bot.replay.ablations import variant_of
from bot.replay.grading import grade_and_report, report_so_far
from bot.replay.prepare import PreparedRun
from bot.replay.stream import Stream
from bot.report.interim_report import pause_of, written_meanwhile
from bot.report.result import RunResult
from bot.report.run_files import EndedRun
from bot.report.words import undated_notes
from bot.solve.build_snapshot import FORM, restore_form
from bot.solve.package import write_package
from bot.submission.final_submission import FinalSubmission, make_final_submission
from sandbox import Sandbox
from sandbox.leases import Leases
from scrapers.posts.cleaners import Cleaners
from scrapers.posts.ingest import ingest
from scrapers.posts.sources import notes_of, take_in
from state.clock import Clock, ReplayClock, StreamClock
from state.community import CommunityView
from state.errors import BotError, Interrupted
from state.progress import create_run, end_run, resume_run
from state.redaction import Redactor
from state.store import Store
from state.tables import Event, Run
from state.words import plural

GRACE = 15.0
"""Seconds for the final submission, grading and the report after a request to stop."""

Result = TypeVar("Result")


async def replay(
    run: PreparedRun,
    sandbox: Sandbox,
    leases: Leases,
    models: ModelSettings,
    redactor: Redactor,
    say: Callable[[str], None],
) -> RunResult:
    """Run one agent on one past competition, grade its submission, and write the run's folder.

    `say` gets a line at a time on what it does. Work that an earlier start of the bot has completed is not repeated.

    Returns:
        The content of result.json.

    Raises:
        Interrupted: a stop was requested, and the result could not be written in time; the run may be resumed.
        UsageError: the configuration cannot work (no key, an unknown price under a cap).
        UnsupportedLayout: the competition's data cannot be split.
        InfrastructureFailure: the evaluator cannot work at all.
    """
    clock = _clock(run)
    with run.folder.running(), Store.open(run.folder.database, clock, redactor=redactor) as store:
        stopwatch = Stopwatch(last_heartbeat(store, run.id))
        end_event = await start_run(run, store, say)
        async with (
            aclosing(Worker()) as worker,
            record_heartbeats(store, run.id, stopwatch),
            open_run_context(
                run, store, clock, SharedServices(sandbox, leases, models, worker, BUILT_IN), stopwatch, say
            ) as context,
        ):
            agent = open_agent(run.settings.agent, context)
            slots, pacing = run.settings.parallel, None
            if isinstance(clock, StreamClock):
                pacing = Stream(context, clock, slots, reads=agent.reads_posts, labs=agent.opens_labs)
            search = SolutionSearch(context, agent, slots, pacing)
            with _interruptible(search):
                if end_event is None:
                    write_report = partial(
                        report_so_far, _as_it_is(run, context, sandbox, stopwatch), len(run.snapshot.leaderboard)
                    )
                    async with written_meanwhile(context, write_report, pause_of(context.budget.seconds)):
                        await search.run()
                else:
                    search.stopped_by = end_event.data["error"]
                ending = _end(run, context, search, worker, sandbox, stopwatch)
                result = await _unless_stopped(ending, search, grace=GRACE)
                if result is None:
                    file = run.folder.submission
                    best = f"; the best so far, not checked, is in {file}" if file.is_file() else ""
                    raise Interrupted(f"stopped before the report{best}. To continue: bot resume {run.folder.path}")
                return result


def _clock(run: PreparedRun) -> Clock:
    """Return the run's clock, at its start; `Stream` repeats the moves of a resumed run."""
    cutoff = run.settings.cutoff
    return StreamClock(run.snapshot.card.enabled_at, cutoff) if run.settings.pace == "stream" else ReplayClock(cutoff)


async def _end(
    run: PreparedRun,
    context: RunContext,
    search: SolutionSearch,
    worker: Worker,
    sandbox: Sandbox,
    stopwatch: Stopwatch,
) -> RunResult:
    submission = await _submit(run, context, search, worker)
    try:
        restore_form(run.snapshot.path / FORM, run.folder.submission)
    except (BotError, OSError) as error:  # it must not cost the result
        context.say(f"the file keeps the bot's own form: {error}")
    with context.store.write() as tx:
        end_run(tx, run.id, search.status, error=search.stopped_by)
    ended_run = replace(
        _as_it_is(run, context, sandbox, stopwatch),
        status=search.status,
        stopped_by=search.stopped_by,
        misconfigured=search.misconfigured,
    )
    result = await grade_and_report(ended_run, submission, run.snapshot.path, worker, force=run.settings.force)
    if run.settings.own_data and result.prediction_source:
        try:
            reason = await write_package(
                context, submission, run.folder.solution, run.snapshot.path, run.settings.model, worker
            )
        except (BotError, OSError) as error:  # it must not cost the result
            reason = str(error)
        if reason:
            context.say(f"solution/ has no predict.py: {reason}")
    return result


def _as_it_is(run: PreparedRun, context: RunContext, sandbox: Sandbox, stopwatch: Stopwatch) -> EndedRun:
    dated = run.snapshot.manifest.dated_at_deadline
    return EndedRun(
        run.folder,
        context,
        sandbox.describe(),
        stopwatch,
        "running",
        variant=variant_of(run.settings),
        dated_at_deadline=None if dated is None else dated.model_dump(),
    )


async def _submit(run: PreparedRun, context: RunContext, search: SolutionSearch, worker: Worker) -> FinalSubmission:
    """Make the final submission; without the refit if a stop is requested before or during it."""
    file, blending, own_file = run.folder.submission, search.blending, search.hands_in_own
    if not search.interrupted:
        over = search.status == "finished"
        work = make_final_submission(context, blending, file, worker, hurried=False, own=own_file, over=over)
        submission = await _unless_stopped(work, search, grace=0.0)
        if submission is not None:
            return submission
    return await make_final_submission(context, blending, file, worker, hurried=True, own=own_file)


async def _unless_stopped(work: Coroutine[Any, Any, Result], search: SolutionSearch, *, grace: float) -> Result | None:
    """Return the work's result; None if a stop was requested, and it did not end within `grace` seconds after that."""
    task, interrupt = asyncio.create_task(work), asyncio.create_task(search.wait_for_interrupt())
    try:
        await asyncio.wait({task, interrupt}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait({task}, timeout=grace)
        return task.result() if task.done() else None
    finally:
        task.cancel()
        interrupt.cancel()
        await asyncio.gather(task, interrupt, return_exceptions=True)


async def start_run(run: PreparedRun, store: Store, say: Callable[[str], None]) -> Event | None:
    """Record that the run begins or is resumed; return the event of its search's end, if it has ended."""
    settings, slug = run.settings, run.snapshot.card.slug
    with store.read() as session:
        known_run = session.get(Run, run.id)
        query = select(Event).where(Event.run_id == run.id, Event.type == "run.ended").order_by(col(Event.seq).desc())
        end_event = session.exec(query.limit(1)).first()
    if known_run is not None:
        with store.write() as tx:
            resume_run(tx, run.id)
        return end_event if end_event is not None and end_event.data["status"] == "finished" else None
    if settings.community:
        # Before the run is recorded, so that it is done again if the bot is killed meanwhile.
        async with Cleaners() as cleaners:
            problems = await ingest(store, slug, run.snapshot.community.posts(run.snapshot.path, slug), cleaners)
            if settings.notes is not None:
                await _take_in_notes(run, settings.notes, store, cleaners, say)
        for item, problem in problems.items():
            say(f"{item}: only partly read: {problem.splitlines()[-1]}")
    with store.write() as tx:
        row = Run(
            id=run.id,
            competition=slug,
            agent=settings.agent,
            model=settings.model,
            seed=settings.seed,
            cutoff=settings.cutoff,
            signals=settings.signals,
            created_at=tx.now(),
            config=settings.model_dump(mode="json") | {"card": run.snapshot.card.model_dump(mode="json")},
        )
        create_run(tx, row)
    return None


async def _take_in_notes(
    run: PreparedRun, folder: Path, store: Store, cleaners: Cleaners, say: Callable[[str], None]
) -> None:
    """Copy the notes into the store, once and for all; those without a date are known from the start."""
    slug = run.snapshot.card.slug
    _, problems = await take_in(store, slug, folder, cleaners, _clock(run).as_of())
    with store.read() as session:
        notes = notes_of(session, slug)
    times = notes.times if notes is not None else []
    later = sum(time is not None and time > run.settings.cutoff for time in times)
    hidden = f"; {later} dated after the cutoff will not be shown" if later else ""
    say(f"read {plural(len(times), 'note')} in {folder}{hidden}")
    if undated := sum(time is None for time in times):
        say(undated_notes(undated, "known from the start"))
    for sentence in problems:
        say(sentence)


@asynccontextmanager
async def open_run_context(
    run: PreparedRun,
    store: Store,
    clock: Clock,
    machinery: SharedServices,
    stopwatch: Stopwatch,
    say: Callable[[str], None],
) -> AsyncIterator[RunContext]:
    """Open a run's budget and services."""
    settings, card = run.settings, run.snapshot.card

    def community(as_of: datetime) -> CommunityView:
        return CommunityView(store, card.slug, as_of, settings.signals)

    spending = open_budget(
        settings.budget, settings.budget_of_all, run.id, card.slug, run.folder.database, clock, stopwatch.wall, say
    )
    budget = RunBudget(stopwatch, wall_limit(spending, settings.time), settings.steps)
    plan = RunPlan(
        run.id,
        card,
        run.snapshot.data,
        run.folder,
        settings,
        community if settings.community else None,
        agent_settings=settings.of_agents,
        labs=settings.in_labs,
        own_data=settings.own_data,
        withholding=settings.withholding,
        spare_baseline=settings.spare_baseline,
    )
    async with open_context(plan, machinery, store, clock, spending, budget, stopwatch, say) as context:
        yield context


@contextmanager
def _interruptible(search: SolutionSearch) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end the search in order; a second signal ends the process as usual."""
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def restore() -> None:
        for number in numbers:
            loop.remove_signal_handler(number)

    def interrupt() -> None:
        restore()
        search.interrupt()

    # Only the main thread of a process gets signals; in another, the caller stops the run.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    for number in numbers:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        restore()
