"""An entry: the work on one competition, from the first look to the end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Literal

from bot.configuration.competition import CompetitionSettings
from bot.execution.folder import RunFolder
from bot.execution.own_grader import grader_text
from bot.live.grading import grade_live_run, report_live_so_far
from bot.live.live_run import LiveRun, begin_run, can_continue, live_run_of, reopen_run
from bot.live.open_run import OpenRun, open_live_run
from bot.live.preparation import PreparationBlocker, PreparedTask, deadline_of, prepare
from bot.live.services import Shared
from bot.live.slots import wait_for_any
from bot.notify import Notice
from bot.notify.outbox import notify
from bot.report.interim_report import written_meanwhile
from bot.report.result import RunResult
from bot.report.run_files import EndedRun
from bot.status.problems import begin, begin_work_broken, end
from bot.submission.files import FILES
from scrapers.kaggle.polling.watch import Part
from scrapers.snapshots.card import TaskCard
from state.errors import (
    BotError,
    DownloadFailed,
    InfrastructureFailure,
    KaggleError,
    NotAuthenticated,
    NotSent,
    SiteUnavailable,
    SubmissionInDoubt,
)
from state.progress import end_run
from state.steering import control
from state.store import NO_RUN
from state.tables import Run

State = Literal["waiting", "working", "paused", "stopped", "over"]
"""waiting: for a person or for Kaggle; working: its search runs, or would if a slot were free."""

_RECHECK_SECONDS = 3600.0
"""Seconds of the clock after which a waiting competition is checked again."""
_RETRY_SECONDS = 600.0
_REPORT_SECONDS = 900.0
"""Real seconds between two reports on a run that goes on."""
_OVER_BY_ITSELF = timedelta(hours=1)
_TRANSIENT_ERRORS = (KaggleError, SiteUnavailable, InfrastructureFailure, DownloadFailed, SubmissionInDoubt)
_ANOTHER_RUN = "another run was started"
_STOPPING = "stopping its search"
_AFTERWARDS = timedelta(days=7)
"""How long after the end the bot waits for private scores."""
_MIN_FINAL_CHECKS = 3
"""Fewest times that it looks for them, however late the first: one answer may lack what the next shows."""
_AT_THE_END: tuple[Part, ...] = ("competitions", "submissions", "top", "board")


class LiveCompetition:
    """One competition; `work` is its loop, and the other methods are what tasks call meanwhile."""

    def __init__(self, slug: str, settings: CompetitionSettings, shared: Shared) -> None:
        self.slug = slug
        self.settings = settings
        self.state: State = "waiting"
        self.reason = "not checked yet"
        self._shared = shared
        self._open: OpenRun | None = None
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()
        self._changed = asyncio.Event()
        self._restarts = False
        self._final_checks = 0

    async def work(self) -> None:
        """Work on the competition until it is over or stopped; failures are reported, and tried again later."""
        while True:
            with self._shared.store.read() as session:
                request = control(session, self.slug)
            try:
                if request == "stopped":
                    await self._stop()
                    return
                if await self._step():
                    return
            except NotAuthenticated:
                self._set("waiting", "Kaggle rejected the API key")
                await self._pause(_RETRY_SECONDS)
            except BotError as error:
                self._set("waiting", str(error))
                # A site's or a machine's failure may pass by itself.
                patience = _OVER_BY_ITSELF if isinstance(error, _TRANSIENT_ERRORS) else timedelta(0)
                with self._shared.store.write() as tx:
                    begin_work_broken(tx, f"entry/{self.slug}", self.slug, str(error), patience)
                await self._pause(_RETRY_SECONDS)

    def poll_is_due(self) -> bool:
        """Return whether something is due to be read from Kaggle."""
        if self.state == "stopped":
            return False
        card = self._card()
        past = (
            card is not None and self._shared.clock.now() > deadline_of(self._shared, card, self.settings) + _AFTERWARDS
        )
        return not past and self._shared.poller.wait(self.slug) <= 0

    async def with_run(self, act: Callable[[OpenRun], Awaitable[None]]) -> None:
        """Call `act` with the open run, which is kept open meanwhile; do nothing if none is open."""
        if self._open is None:
            return
        self._users += 1
        self._unused.clear()
        try:
            await act(self._open)
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    def board_moved(self) -> None:
        """Open another round of drafts, because the leaderboard has moved."""
        if self._open is not None:
            self._open.turns.renew()

    async def collect_outputs(self) -> None:
        """Fetch new files that public kernels have written."""
        # The run is not kept open for this: it takes long, and needs nothing of the run.
        if self._open is not None:
            await self._open.outputs.collect(self._shared.settings.polling.max_outputs_per_cycle)

    @property
    def is_open(self) -> bool:
        """Whether its run is worked on now."""
        return self._open is not None

    @property
    def lower_is_better(self) -> bool | None:
        """The direction of its metric, None while that is unknown."""
        card = self._card()
        return None if card is None else card.lower_is_better

    @property
    def run_id(self) -> str | None:
        """Its run, None if there is none yet."""
        row = live_run_of(self._shared.store, self.slug)
        return None if row is None else row.id

    @property
    def deadline(self) -> datetime | None:
        """When it ends, None while that is unknown."""
        card = self._card()
        return None if card is None else deadline_of(self._shared, card, self.settings)

    def changed(self) -> None:
        """Check again the owner's requests, what was read, and the deadline."""
        self._changed.set()
        if (open_run := self._open) is None:
            return
        with self._shared.store.read() as session:
            request = control(session, self.slug)
        if request == "stopped":
            open_run.search.interrupt(_STOPPING)
        deadline = deadline_of(self._shared, open_run.run.card, self.settings)
        seconds = (deadline - open_run.run.started_at).total_seconds() / self._shared.speed
        if abs(seconds - open_run.context.budget.seconds) > 1.0:
            self._restarts = True  # the deadline was moved
            open_run.search.interrupt(_STOPPING)
        self._shared.slots.pulse()

    def configure(self, settings: CompetitionSettings) -> None:
        """Go on with these settings; a waiting competition, or one with another grader file, starts again."""
        open_run = self._open
        has_new_grader = (
            open_run is not None and settings.grader is not None and grader_text(settings.grader) != open_run.grader
        )
        if settings != self.settings or self.state == "waiting" or has_new_grader:
            self.settings, self._restarts = settings, True
            if self._open is not None:
                self._open.search.interrupt(_STOPPING)
            self._changed.set()

    async def _step(self) -> bool:
        """Take one step: prepare, search, or end; returns whether nothing is left to do."""
        deadline = self.deadline
        if deadline is not None and self._shared.clock.now() >= deadline:
            return await self._end()
        task = await prepare(self._shared, self.slug, self.settings)
        if isinstance(task, PreparationBlocker):
            self._problem_over()
            self._set("waiting", task.reason)
            await self._pause(_RECHECK_SECONDS)
            return False
        if self._shared.clock.now() >= deadline_of(self._shared, task.card, self.settings):
            if live_run_of(self._shared.store, self.slug) is None:
                self._set("over", "ended before the bot started")
                return True
            return await self._end()
        await self._search(task)
        return False

    async def _search(self, task: PreparedTask) -> None:
        """Search until the time is used up, or the owner stops it; submissions go on until the deadline."""
        self._restarts = False
        row = live_run_of(self._shared.store, self.slug)
        if row is not None and row.status == "running" and not can_continue(row, task, self.settings):
            reason = "its scores would no longer be comparable, or the agent has changed"
            self._shared.say(self.slug, f"starting a new run because {row.id} cannot continue: {reason}")
            await self._finish(row, _ANOTHER_RUN)
        run = begin_run(self._shared, task, self.settings)
        async with self._open_run(run) as open_run:
            if self._is_unscored(open_run):
                await self._pause(_RECHECK_SECONDS)
                return
            self._set("working", "")
            self._problem_over()
            searching = asyncio.create_task(open_run.search.run())
            try:
                async with written_meanwhile(open_run.context, lambda: self._report_so_far(open_run), _REPORT_SECONDS):
                    await self._attend(open_run, searching)
            except asyncio.CancelledError:
                # Nodes in flight are left as they are, and resumed at the next start.
                open_run.search.interrupt(_STOPPING)
                await asyncio.gather(searching, return_exceptions=True)
                raise
            if open_run.search.misconfigured or open_run.search.status == "failed":
                raise BotError(open_run.search.stopped_by or "the search failed")
            if open_run.search.interrupted:
                return
            await self.with_run(OpenRun.submit)
            await self._until_deadline(open_run)

    async def _report_so_far(self, open_run: OpenRun) -> None:
        machinery = self._shared.machinery
        so_far_run = EndedRun(
            open_run.run.folder, open_run.context, machinery.sandbox.describe(), open_run.stopwatch, "running"
        )
        await report_live_so_far(so_far_run, self._shared.competition(self.slug) / FILES, machinery.worker)

    async def _attend(self, open_run: OpenRun, searching: "asyncio.Task[None]") -> None:
        while not searching.done():
            changed = asyncio.create_task(self._wait_for_change())
            await asyncio.wait({searching, changed}, return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
            if self.state in ("working", "paused"):
                paused = open_run.turns.is_paused()
                self._set("paused" if paused else "working", "paused by the owner" if paused else "")
        searching.result()

    async def _until_deadline(self, open_run: OpenRun) -> None:
        """Go on submitting until the end: files that wait may still be approved, and scores come in."""
        while not self._restarts:
            seconds = (
                deadline_of(self._shared, open_run.run.card, self.settings) - self._shared.clock.now()
            ).total_seconds()
            with self._shared.store.read() as session:
                if seconds <= 0 or control(session, self.slug) == "stopped":
                    return
            self._set("working", "the search has ended; its nodes can still be submitted")
            await self._pause(min(seconds + 0.01, _RECHECK_SECONDS))

    async def _end(self) -> bool:
        """Write the result once the competition is over, and again as private scores come in; True once it is complete."""
        row = live_run_of(self._shared.store, self.slug)
        card = self._card()
        if row is None or card is None:
            self._set("over", "ended before any work was done")
            return True
        self._final_checks += 1
        for part in _AT_THE_END:  # some of it would not be due for a day
            with contextlib.suppress(KaggleError, SiteUnavailable, NotSent):
                await self._shared.poller.poll(self.slug, part)
        result = await self._finish(row, None)
        self._problem_over()
        private = result.score_kind == "private"
        facts = {
            "run": row.id,
            "score": result.score,
            "private": private,
            "rank": result.rank,
            "teams": result.n_teams,
            "medal": result.medal,
            "report": str(RunFolder(self._shared.runs / row.id).report),
        }
        with self._shared.store.write() as tx:
            notify(tx, Notice("competition.over", self.slug, facts), row.id)
        is_late = self._shared.clock.now() > deadline_of(self._shared, card, self.settings) + _AFTERWARDS
        if private or not result.submissions or (is_late and self._final_checks >= _MIN_FINAL_CHECKS):
            self._set("over", "")
            return True
        self._set("over", "waiting for private scores")
        await self._pause(_RECHECK_SECONDS)
        return False

    async def _stop(self) -> None:
        row = live_run_of(self._shared.store, self.slug)
        if row is not None and row.status == "running":
            await self._finish(row, "stopped by the owner")
        self._problem_over()
        self._set("stopped", "stopped by the owner")

    async def _finish(self, row: Run, stopped_by: str | None) -> RunResult:
        """Write a run's result and report, and end it; may be called again.

        If anything but the competition's end stops it, what is not sent yet is given up first.
        """
        run, machinery = reopen_run(self._shared, row), self._shared.machinery
        async with self._open_run(run) as open_run:
            if stopped_by is not None:
                await open_run.submission_service.give_up(stopped_by)
            else:
                await open_run.submission_service.send()  # what is still held is withdrawn
            await open_run.submission_service.scores.settle()
            sandbox = machinery.sandbox.describe()
            ended_run = EndedRun(run.folder, open_run.context, sandbox, open_run.stopwatch, "finished", stopped_by)
            files = self._shared.competition(self.slug) / FILES
            result = await grade_live_run(ended_run, files, machinery.worker)
        with self._shared.store.write() as tx:
            end_run(tx, run.id, "finished")
        return result

    def _is_unscored(self, open_run: OpenRun) -> bool:
        """Return whether the owner's grader cannot score a view; self-reported scores would not be what the owner asked for."""
        reason = (
            open_run.context.executor.views.unscored if open_run.run.competition_settings.grader is not None else None
        )
        with self._shared.store.write() as tx:
            if reason is None:
                end(tx, f"grader/{self.slug}")
                return False
            grader_failure = f"{open_run.run.competition_settings.grader}: {reason}"
            sentence = f"cannot compute scores: {grader_failure}"
            notice = Notice("problem.grader", self.slug, {"why": grader_failure})
            begin(tx, f"grader/{self.slug}", sentence, notice, asks=True)
        self._set("waiting", sentence)
        return True

    @asynccontextmanager
    async def _open_run(self, run: LiveRun) -> AsyncIterator[OpenRun]:
        try:
            async with open_live_run(self._shared, run) as self._open:
                try:
                    yield self._open
                finally:
                    self._open = None
                    # Tasks that use the run must end before it is closed.
                    await self._unused.wait()
        finally:
            self._open = None

    def _card(self) -> TaskCard | None:
        if self._open is not None:
            return self._open.run.card
        row = live_run_of(self._shared.store, self.slug)
        return None if row is None else TaskCard.model_validate(row.config["card"])

    def _set(self, state: State, reason: str) -> None:
        if (state, reason) == (self.state, self.reason):
            return
        self.state, self.reason = state, reason
        with self._shared.store.write() as tx:
            tx.record(f"entry.{state}", run_id=NO_RUN, competition=self.slug, reason=reason)
        self._shared.say(self.slug, f"{state}: {reason}" if reason else state)

    def _problem_over(self) -> None:
        with self._shared.store.write() as tx:
            end(tx, f"entry/{self.slug}")

    async def _pause(self, seconds: float) -> None:
        """Wait for `seconds` of the clock, or until something has changed."""
        await wait_for_any(self._shared.clock.sleep(seconds), self._wait_for_change())

    async def _wait_for_change(self) -> None:
        await self._changed.wait()
        self._changed.clear()
