"""The shell coder at work: one lab from its opening to its close, turn by turn, each turn a step."""

import asyncio
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.coder.coder_config import OwnCoder
from bot.coder.gateway import Gateway
from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.cards import board
from bot.coder.lab.commands import Commands
from bot.coder.lab.lab_setup import LabSetup, command_seconds
from bot.coder.lab.lab_shutdown import LabShutdown
from bot.coder.lab.leases import LabLease, LabSandbox
from bot.coder.lab.marking import LineMark
from bot.coder.lab.news import LabNews
from bot.coder.lab.prompts import LabReply
from bot.coder.lab.scripts import ScoredScripts
from bot.coder.lab.server import LabServer
from bot.coder.lab.session import AgentSession
from bot.coder.lab.settings import LabSettings
from bot.coder.lab.steps import (
    COMMAND_SHOWN,
    LAB_OPENED,
    LAST_FILE,
    SUMMARIZED,
    TURN,
    TURN_BEGUN,
    BegunTurn,
    Conversation,
    Summary,
    TurnResult,
)
from bot.engine.context import RunContext
from bot.engine.experiment import experiment_name
from bot.engine.strategy import Action
from bot.models import Item
from sandbox.lab import CommandResult, LabLimits, LabRequest
from state.errors import BudgetExceeded, ModelRefused
from state.labs import close_lab, end_turn, lab, open_lab
from state.progress import end_node
from state.steps import Key

_MOST_PROSE, _MOST_PROSE_ALONE = 10, 3
"""After so many replies in a row without a command, a lab is closed."""
_MOST_REFUSED = 3
"""Attempts at a turn before a model without a usable answer ends the work."""
_MOUNTED = ("community", "knowledge", "TASK.md", "folds.csv", "folds.json", "classes.json")
"""Parts of its folder that a coder finds read-only, if present."""
_REPORTED_SECONDS = 5.0
"""Seconds of waiting, for a reply or for cores, from which they are shown."""
_SHORTEST = 5.0
"""Minimum seconds of a command, however little time is left."""
_CHECK_SECONDS = 2.0
"""Seconds between checks whether a command still has time."""
_OVER = "the lab's time is up"
_STALE_EXPERIMENTS, _STALE_SECONDS = 12, 1800.0
"""Experiments and seconds without a gain of one standard error that close a lab of a longer run."""
_WARNING = 180.0
"""Seconds before the end at which a coder is warned."""
_INTERRUPTED = (
    "[interrupted: the bot was restarted while this command was running. The command was not run again; work/ is as "
    "it was {left}, and background jobs are gone]"
)
_ENDING = (
    "[Your time is nearly up: log whatever you have not logged yet, with test predictions, and end with `lab done`. Work that "
    "is not logged does not count.]"
)
_ENDING_SCRIPTS = "[Your time is nearly up: score your best script if it has no score yet, and end with `lab done`.]"
_ENDING_ALONE = (
    "[Your time is nearly up: make sure that /lab/work/submission.csv is your best file, and do not start "
    "anything that takes a long time.]"
)
_PROSE = (
    "No command was found. Call the tool `sh`, or end your reply with one block fenced with ```sh and ```; "
    "do not use tags."
)
_DONE_HINT = "When you have nothing left to do, run `lab done`."
_DONE_ALONE = "Three such replies in a row end your work."


@dataclass
class Work:
    """The work in one lab during one start of the bot."""

    context: RunContext
    settings: LabSettings
    assignment: LabAssignment
    action: Action
    number: int
    coder: OwnCoder | None = None
    """The owner's agent that works in it; None: the shell coder."""
    thought: float = 0.0
    """Seconds that the last reply took."""
    gateway: Gateway | None = None
    """By which the owner's agent reaches its model."""

    async def through(self) -> None:
        """Open the lab, or open it again, have its coder work, and close it."""
        context, number = self.context, self.number
        self.folder = context.executor.folder.labs / f"lab{number}"
        with context.store.write() as tx:
            open_lab(
                tx,
                context.run_id,
                number,
                draft_id=None if self.action.draft_id is None else str(self.action.draft_id),
                parents=self._parents,
                title=self.assignment.title,
            )
        opening = LabSetup(context, self.settings, self.assignment, number, self.folder, owned=self.coder is not None)
        self.opened = await context.steps.once(LAB_OPENED, opening.write, Key(number))
        self.marking = LineMark(self.opened.mark)
        self.conversation = Conversation(self.opened.head, self.opened.known_items)
        self.news = LabNews(context, self.folder / "community", self.opened.news, lab=number)
        self.scripts = ScoredScripts(
            context,
            number,
            self.action.draft_id,
            self._parents,
            self.assignment.title,
            self._seconds_left,
            self.folder / "logs",
        )
        self.closing = LabShutdown(context, number, self.folder)
        # An agent of the owner's is installed on this machine.
        self.lease = LabLease(context.executor.leasing, here=self.coder is not None)
        self.commands = Commands(
            context,
            number,
            self.scripts,
            self._seconds_left,
            self._turns_left,
            self.lease,
            self.assignment.ideas,
            lambda: self.box.sync_work_folder(),
        )
        async with AsyncExitStack() as stack:
            self.stack = stack
            session = None if self.coder is None else self._session(self.coder)
            if session is not None:
                self.gateway = await stack.enter_async_context(self._gateway(session))
            if not self.assignment.alone:
                handler = session or self.commands
                await stack.enter_async_context(LabServer(self.folder / "socket" / "socket", handler))
            # Its own to the end: commands never wait, and work in idle time shares it.
            await stack.enter_async_context(self.lease.hold())
            self.box = LabSandbox(context.executor, self._request(), self.lease.place)
            stack.push_async_callback(self.box.close)
            try:
                # Scores that an earlier start of the bot had begun.
                self.commands.news += await self.scripts.finish_begun()
                if session is None or self.gateway is None:
                    reason = await self._converse()
                else:
                    reason = await session.through(self.box, self.gateway, self.lease)
            except BudgetExceeded as error:
                await self._close(str(error))
                raise
            await self._close(reason)

    @property
    def _parents(self) -> tuple[int, ...]:
        first = () if self.assignment.codebase is None else (self.assignment.codebase,)
        return (*first, *(node for node in self.assignment.parents if node not in first))

    def _request(self) -> LabRequest:
        executor, folder = self.context.executor, self.folder
        mounts: dict[str, Path] = {name: folder / name for name in _MOUNTED}
        mounts = {name: path for name, path in mounts.items() if path.exists()}
        if self.assignment.alone:
            mounts["data"] = executor.settings.data
        elif self.context.experiments is not None:
            mounts["experiments"] = self.context.experiments.folder
        limits = executor.settings.limits
        return LabRequest(
            f"{self.context.run_id}-lab{self.number}",
            folder,
            mounts,
            LabLimits(limits.memory_bytes, self.settings.work_bytes, limits.processes),
            redactor=self.context.store.redactor,
            environment={**self.gateway.environment, **self.coder.variables} if self.gateway and self.coder else {},
            in_place=() if self.coder is None else self.coder.in_place,
        )

    def _session(self, coder: OwnCoder) -> AgentSession:
        """Return the owner's agent, ready to be started."""

        async def look() -> None:
            if self.gateway is not None and self.gateway.exchanges:
                self.assignment.replied()

        return AgentSession(
            self.context,
            coder,
            self.number,
            self.folder,
            "\n\n".join(message.content for message in self.conversation.head),
            self.assignment.alone,
            self.commands,
            self.news,
            self.marking,
            self._seconds_left,
            self._warning,
            look,
            list(self.conversation.known_items),
        )

    def _gateway(self, session: AgentSession) -> Gateway:
        """Return the way by which the owner's agent reaches its model."""
        context, coder = self.context, session.coder
        return Gateway(
            self.folder / "socket" / "gateway",
            context.asker,
            dialect=coder.dialect,
            model=coder.model,
            also=coder.models,
            node=self.number,
            items=session.take_fresh,
            notice=session.notice,
            say=context.say,
            turns=self.settings.turns,
        )

    # time

    def _seconds_left(self) -> float:
        """Return the seconds that the coder has left."""
        context = self.context
        return max(0.0, min(self.opened.ends_at - context.budget.elapsed.wall(), context.budget.usable(None)))

    def _turns_left(self) -> str:
        turns_used = self.conversation.length if self.gateway is None else self.gateway.turns_taken
        turn_kind = "replies" if self.gateway is None else "requests to your model"
        return f"{max(0, self.settings.turns - turns_used)} {turn_kind}"

    # conversation

    async def _converse(self) -> str:
        """Take turns until something ends the lab; return the reason."""
        context, conversation, prose, refusals = self.context, self.conversation, 0, 0
        while True:
            turn = conversation.length + 1
            if self.commands.done:
                return "its coder finished"
            if turn > self.settings.turns:
                return f"all its {self.settings.turns} turns were used up"
            seconds_left = self._seconds_left()
            if seconds_left <= 0:
                return "it ran out of time"
            if (stale := self._stale()) is not None:
                return stale
            if prose >= (_MOST_PROSE_ALONE if self.assignment.alone else _MOST_PROSE):
                return f"{prose} consecutive replies had no command"
            await self._shorten(turn)
            start = time.monotonic()
            try:
                async with asyncio.timeout(max(1.0, seconds_left)):
                    reply = await context.asker.ask(
                        conversation.prompt(), role="coder", name=f"turn:{turn}{'+' * refusals}", node=self.number
                    )
            except TimeoutError:
                return "it ran out of time"
            except ModelRefused as error:
                refusals += 1
                if refusals == _MOST_REFUSED:
                    return f"the model did not answer: {error}"
                continue
            refusals = 0
            self.assignment.replied()
            self.thought = time.monotonic() - start
            observation = await self._observe(turn, reply)
            self.news.mark = observation.news
            conversation.add(reply.text, observation.text, observation.items)
            prose = 0 if reply.command is not None else prose + 1

    async def _observe(self, turn: int, reply: LabReply) -> TurnResult:
        """Return the observation on a reply: a step, whose command is never run twice."""
        context, interrupted, key = self.context, True, Key(self.number, attempt=turn)

        async def begin() -> BegunTurn:
            nonlocal interrupted
            interrupted = False
            return BegunTurn(len(self.scripts.nodes))

        async def make() -> TurnResult:
            self.commands.turn = turn
            turn_start = await context.steps.once(TURN_BEGUN, begin, key)
            started = time.monotonic()
            output = ""
            if reply.command is None:
                lines = [f"{_PROSE} {_DONE_ALONE if self.assignment.alone else _DONE_HINT}"]
                facts: dict[str, Any] = {}
            elif interrupted:
                interruption = _INTERRUPTED.format(left="last copied back" if self.lease.elsewhere else "left")
                logged = self._logged_since(turn_start.nodes)
                lines = [interruption, *([f"logged before the restart: {', '.join(logged)}"] if logged else [])]
                facts = {"interrupted": True}
            else:
                output, ending, facts = await self._run(turn, reply.command)
                lines = [ending]
            lines += [f"[meanwhile] {news}" for news in self.commands.take_news()]
            if not self.assignment.alone:
                lines += [f"[news] {news}" for news in await asyncio.to_thread(self.news.lines)]
            text = "\n".join(filter(None, [output, self.marking.engine("\n".join([*lines, self._footer(turn)]))]))
            items = {item.id: item.time for item in (*self.news.take_items(), *self.commands.take_shown())}
            with context.store.write() as tx:
                end_turn(
                    tx,
                    context.run_id,
                    self.number,
                    turn,
                    command=(reply.command or "")[:COMMAND_SHOWN],
                    seconds=round(time.monotonic() - started, 3),
                    **facts,
                )
            new_items = tuple(Item(id, time) for id, time in items.items())
            return TurnResult(text, self.commands.done, new_items, self.news.mark)

        result = await context.steps.once(TURN, make, key)
        self.commands.done = result.done
        return result

    def _logged_since(self, nodes: int) -> list[str]:
        """Return the names of what the lab has logged beyond its first nodes."""
        context = self.context
        return [experiment_name(context.store, context.run_id, node) for node in self.scripts.nodes[nodes:]]

    def _stale(self) -> str | None:
        """Return why a lab of a longer run is closed without its coder's word: its last experiments gained nothing."""
        log, context = self.context.experiments, self.context
        if log is None or self.assignment.alone or context.budget.one_lab_a_slot:
            return None
        own_experiments = [e for e in log.all() if e.lab == self.number and e.kind != "portfolio"]
        gaining = [
            e for e in own_experiments if e.result.gain is None or e.result.gain.value > (e.result.gain.std_error or 0)
        ]
        last = max((experiment.node for experiment in gaining), default=0)
        if sum(experiment.node > last for experiment in own_experiments) < _STALE_EXPERIMENTS:
            return None
        since = log.logged_at(last) if last else None
        if since is not None and (context.clock.now() - since).total_seconds() < _STALE_SECONDS:
            return None
        return f"its last {_STALE_EXPERIMENTS} experiments gained nothing"

    async def _run(self, turn: int, command: str) -> tuple[str, str, dict[str, Any]]:
        """Run a command on the lab's lease; return its output, a line on its end, and facts."""
        seconds = max(_SHORTEST, min(command_seconds(self.opened.seconds), self._seconds_left()))
        async with self.lease.hold() as lease:
            with self.context.executor.stopwatch.measure("commands"):
                result = await self._in_time(self.box.run(turn, command, seconds, lease))
        redacted, marking = self.context.store.redactor.text, self.marking
        output = marking.output(redacted(result.output), self.commands.take_answers())
        parts = []
        if result.timed_out:
            parts.append(f"stopped at its time limit of {seconds:.0f} s; run longer work in the background")
        if result.notice:
            parts.append(" ".join(marking.foreign(result.notice).split()))
        parts.append(f"exit {result.exit_code}" if result.exit_code is not None else "no exit status")
        parts.append(f"{result.seconds:.1f} s")
        if result.jobs:
            job_names = ", ".join(marking.name(redacted(job)) for job in result.running)
            parts.append(
                f"{result.jobs} background process{'es' if result.jobs != 1 else ''} running"
                + (f": {job_names}" if job_names else "")
            )
        facts = {"exit": result.exit_code, "jobs": result.jobs, "timed_out": result.timed_out}
        return output, f"[{'; '.join(parts)}]", facts

    async def _in_time(self, running: Coroutine[Any, Any, CommandResult]) -> CommandResult:
        """Return a command's result; it is ended when the lab's time is up."""
        task, start = asyncio.create_task(running), time.monotonic()
        try:
            while not (await asyncio.wait({task}, timeout=_CHECK_SECONDS))[0]:
                if time.monotonic() - start > _SHORTEST and self._seconds_left() <= 0:
                    return CommandResult("", None, time.monotonic() - start, False, _OVER, 0)
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _footer(self, turn: int) -> str:
        seconds_left = self._seconds_left()
        line = f"[{seconds_left:.0f} s left; "
        if self.thought >= _REPORTED_SECONDS:
            line += f"your reply took {self.thought:.0f} s; "
        line += f"reply {turn} of {self.settings.turns}]"
        return "\n".join(filter(None, [line, self._warning(seconds_left)]))

    def _warning(self, seconds_left: float) -> str | None:
        """Return the warning for a coder with so many seconds left; None: it is too early."""
        if seconds_left >= min(_WARNING, 0.2 * self.opened.seconds):
            return None
        if self.assignment.alone:
            return _ENDING_ALONE
        return _ENDING_SCRIPTS if self.context.needs_scripts else _ENDING

    async def _shorten(self, turn: int) -> None:
        """Replace old turns of a conversation that has become too long by a summary, which code writes in a step."""
        conversation = self.conversation
        if not conversation.is_too_long(self.settings.context_characters):
            return

        async def summarize() -> Summary:
            return Summary(conversation.summary(board(self.context)))

        summary = await self.context.steps.once(SUMMARIZED, summarize, Key(self.number, attempt=turn))
        conversation.shorten(summary.text)

    # close

    async def _close(self, reason: str) -> None:
        """End all processes, keep what a coder alone leaves, and close the lab."""
        context = self.context
        await self.box.close()
        # A cleanup on the host may have removed it.
        (self.folder / "work").mkdir(parents=True, exist_ok=True)
        if self.assignment.alone:
            # A step, as what it reads may be gone once work/ is tidied.
            await context.steps.once(LAST_FILE, lambda: self.closing.keep_submission(reason), Key(self.number))
        # Before it counts as closed, as its children copy what is left.
        await asyncio.to_thread(self.closing.tidy)
        report = lab(context.store, context.run_id, self.number)
        with context.store.write() as tx:
            if not self.scripts.nodes and not self.assignment.alone:
                end_node(tx, context.run_id, self.number, "buggy", error=f"its lab logged nothing: {reason}")
            close_lab(tx, context.run_id, self.number, reason, report.report if report else None)
        context.say(f"lab {self.number} ended: {reason}")
