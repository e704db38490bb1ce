"""The shell coder at work: one lab from its opening to its close, turn by turn, each turn a step."""

import asyncio
import time
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from bot.coder.gateway import Gateway
from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.box import Box
from bot.coder.lab.cards import board
from bot.coder.lab.closing import Closing
from bot.coder.lab.commands import Commands
from bot.coder.lab.conversation import COMMAND_SHOWN, Conversation
from bot.coder.lab.leases import LabLease
from bot.coder.lab.looks import Looks, NoLook, look_seconds
from bot.coder.lab.news import LabNews
from bot.coder.lab.opening import Opening, command_seconds
from bot.coder.lab.prompts import LabReply
from bot.coder.lab.server import LabServer
from bot.coder.lab.session import Session
from bot.coder.lab.settings import LabSettings
from bot.coder.own import OwnCoder
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.scripts import best_seconds
from bot.engine.strategy import Action
from bot.models import Item, Message
from sandbox.lab import CommandResult, LabLimits, LabRequest
from state.errors import BudgetExceeded, ModelRefused
from state.labs import close_lab, end_turn, lab, open_lab
from state.progress import end_node
from state.words import plural

_MOST_PROSE, _MOST_PROSE_ALONE = 10, 3
"""Replies without a command in a row that close a lab."""
_CLOSING = 10.0
"""Seconds kept at a lab's end beside those of its last look."""
_MOUNTED = ("bank", "community", "knowledge", "TASK.md", "folds.csv")
"""What of its folder a coder finds read-only, as far as it is there."""
_TOLD = 5.0
"""Seconds of waiting, for a reply or for cores, from which on they are shown."""
_SHORTEST = 5.0
"""Seconds that a command has, however little is left."""
_LOOKED_AT = 2.0
"""Seconds after which it is looked again whether a command still has time."""
_OVERTAKEN = (
    "the lab's time is over, as its newest score is the best and more time is kept for running that script again"
)
_EARLIEST_WARNING, _LATEST_WARNING = 300.0, 60.0
_INTERRUPTED = (
    "[interrupted: the bot was restarted while this command ran, and it was not run again; work/ is as it was {left}, and "
    "background jobs are gone]"
)
_ENDING = (
    "[Your time is nearly over: see that /lab/work/solution.py is your best whole script, score it if it was not scored, and end "
    "with `lab done`.]"
)
_ENDING_ALONE = (
    "[Your time is nearly over: see that /lab/work/submission.csv is your best file, and begin nothing long.]"
)
_PROSE = "No command was found in your reply. Call the tool `sh`, or end your reply with one block fenced with ```sh and ```."
_DONE = "When you have nothing left to do: `lab done`."
_DONE_ALONE = "If you have nothing left to do, that is as it should be: three such replies in a row end your work."


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
    unscored: bool = True
    """Whether `work/solution.py` may be a script that the last look will score."""

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
        opening = Opening(context, self.settings, self.assignment, number, self.folder, owned=self.coder is not None)
        self.opened = await context.steps.once("lab.open", opening.write, node=number)
        self.conversation = Conversation(
            tuple(Message(one["role"], one["content"]) for one in self.opened["head"]), _items(self.opened["known"])
        )
        self.news = LabNews(context, self.folder / "community", self.opened["news"])
        self.looks = Looks(
            context,
            number,
            self.action.draft_id,
            self._parents,
            self.assignment.title,
            self.settings.looks,
            lambda: sum(self._times()),
            self.folder / "logs",
        )
        self.closing = Closing(context, number, self.folder, self.looks)
        # An agent of the owner's is installed on this machine.
        self.lease = LabLease(context.executor.leasing, here=self.coder is not None)
        self.commands = Commands(
            context,
            number,
            self.looks,
            lambda: self._times()[0],
            self._turns_left,
            self.lease,
            self.assignment.ideas,
            lambda: self.box.bring_home(),
        )
        async with AsyncExitStack() as stack:
            self.stack = stack
            session = None if self.coder is None else self._session(self.coder)
            if session is not None:
                self.gateway = await stack.enter_async_context(self._gateway(session))
            if not self.assignment.alone:
                handler = session or self.commands
                await stack.enter_async_context(LabServer(self.folder / "socket" / "socket", handler))
            stack.push_async_callback(self._stop_waiting)
            stack.push_async_callback(self.commands.cancel)
            self.box = Box(context.executor, self._request(), self.lease.place)
            stack.push_async_callback(self.box.close)
            try:
                # Scores that an earlier start of the bot had begun, also in the background.
                self.commands.news += await self.looks.finish_begun()
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
        return (*first, *(one for one in self.assignment.parents if one not in first))

    def _request(self) -> LabRequest:
        executor, folder = self.context.executor, self.folder
        mounts: dict[str, Path] = {name: folder / name for name in _MOUNTED}
        mounts = {name: path for name, path in mounts.items() if path.exists()}
        if self.assignment.alone:
            mounts["data"] = executor.settings.data
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

    def _session(self, coder: OwnCoder) -> Session:
        """Return the owner's agent, ready to be started."""

        async def look() -> None:
            if self.gateway is not None and self.gateway.exchanges:
                self.assignment.replied()
            self.unscored = await asyncio.to_thread(self._unscored)

        return Session(
            self.context,
            coder,
            self.number,
            self.folder,
            "\n\n".join(message.content for message in self.conversation.head),
            self.assignment.alone,
            self.commands,
            self.news,
            lambda: self._times()[0],
            self.settings.turns,
            self._warning,
            look,
            list(self.conversation.known),
        )

    def _gateway(self, session: Session) -> Gateway:
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
        )

    # time

    def _times(self) -> tuple[float, float]:
        """Return the seconds that the coder has left, and the seconds after them that are kept for the last look."""
        context, opened = self.context, self.opened
        best = best_seconds(context, load_tree(context))
        left = max(0.0, min(opened["ends_at"] - context.budget.elapsed.wall(), context.budget.usable(best)))
        kept = min(left, self._last_look())
        return left - kept, kept

    def _turns_left(self) -> str:
        used = self.conversation.length if self.gateway is None else self.gateway.exchanges
        what = "replies" if self.gateway is None else "requests to your model"
        return f"{max(0, self.settings.turns - used)} {what}"

    def _last_look(self) -> float:
        """Return the seconds that the lab's close needs."""
        best = best_seconds(self.context, load_tree(self.context)) if self.unscored else None
        seconds: float = self.opened["seconds"]
        return _CLOSING + min(best or 0.0, seconds / 5)

    # conversation

    async def _converse(self) -> str:
        """Take turns until something ends the lab; return the reason."""
        context, conversation, prose = self.context, self.conversation, 0
        while True:
            turn = conversation.length + 1
            if self.commands.done:
                return "its coder was done"
            if turn > self.settings.turns:
                return f"its {self.settings.turns} turns were used up"
            left, _ = self._times()
            if left <= 0:
                return "its time was used up"
            if prose >= (_MOST_PROSE_ALONE if self.assignment.alone else _MOST_PROSE):
                return f"{prose} replies in a row held no command"
            await self._shorten(turn)
            asked = time.monotonic()
            try:
                async with asyncio.timeout(max(1.0, left)):
                    reply = await context.asker.ask(
                        conversation.prompt(), role="coder", name=f"turn:{turn}", node=self.number
                    )
            except TimeoutError:
                return "its time was used up"
            except ModelRefused as error:
                return f"the model gave no answer: {error}"
            self.assignment.replied()
            self.thought = time.monotonic() - asked
            seen = await self._observe(turn, reply)
            self.news.mark = seen["news"]
            conversation.add(reply.text, seen["text"], _items(seen["items"]))
            prose = 0 if reply.command is not None else prose + 1

    async def _observe(self, turn: int, reply: LabReply) -> dict[str, Any]:
        """Return the observation on a reply: a step, whose command is never run twice."""
        context, interrupted = self.context, True

        async def begin() -> dict[str, Any]:
            nonlocal interrupted
            interrupted = False
            return {"nodes": len(self.looks.nodes)}

        async def make() -> dict[str, Any]:
            self.commands.turn = turn
            begun = await context.steps.once("lab.begun", begin, node=self.number, attempt=turn)
            started = time.monotonic()
            if reply.command is None:
                text = f"{_PROSE} {_DONE_ALONE if self.assignment.alone else _DONE}"
                facts: dict[str, Any] = {}
            elif interrupted:
                scores = map(self.looks.answer, self.looks.nodes[begun["nodes"] :])
                told = _INTERRUPTED.format(left="copied back last" if self.lease.elsewhere else "left")
                text = "\n".join([told, *(one for one in scores if one not in self.commands.news)])
                facts = {"interrupted": True}
            else:
                text, facts = await self._run(turn, reply.command)
            lines = [f"[meanwhile] {one}" for one in self.commands.take_news()]
            if not self.assignment.alone:
                lines += [f"[news] {one}" for one in await asyncio.to_thread(self.news.lines)]
            text = "\n".join([text, *lines, self._footer(turn)])
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
            return {
                "text": text,
                "done": self.commands.done,
                "items": [[id, at.isoformat()] for id, at in items.items()],
                "news": self.news.mark,
            }

        seen = await context.steps.once("lab.turn", make, node=self.number, attempt=turn)
        self.commands.done = bool(seen["done"])
        return seen

    async def _run(self, turn: int, command: str) -> tuple[str, dict[str, Any]]:
        """Run a command on a lease, which its background jobs keep."""
        seconds = max(_SHORTEST, min(command_seconds(self.opened["seconds"]), self._times()[0]))
        asked = time.monotonic()
        async with self.lease.hold() as lease:
            waited = time.monotonic() - asked
            with self.context.executor.stopwatch.measure("commands"):
                result = await self._in_time(self.box.run(turn, command, seconds, lease))
            self.unscored = await asyncio.to_thread(self._unscored)
            if result.jobs and (self._waiting is None or self._waiting.done()):
                begun = asyncio.Event()
                self._waiting = asyncio.create_task(self._hold_for_jobs(begun))
                await begun.wait()
        text = self.context.store.redactor.text(result.output).rstrip()
        parts = []
        if result.timed_out:
            parts.append(f"ended at its time limit of {seconds:.0f} s; run what takes longer in the background")
        if result.ended:
            parts.append(result.ended)
        parts.append(f"exit {result.exit_code}" if result.exit_code is not None else "no exit status")
        parts.append(f"{result.seconds:.1f} s")
        if waited >= _TOLD:
            parts.append(f"it waited {waited:.0f} s for the cores before that")
        if result.jobs:
            named = ", ".join(" ".join(one.split()) for one in result.running)
            parts.append(
                f"{result.jobs} background process{'es' if result.jobs != 1 else ''} running"
                + (f": {self.context.store.redactor.text(named)}" if named else "")
            )
        facts = {"exit": result.exit_code, "jobs": result.jobs, "timed_out": result.timed_out}
        return f"{text}\n[{'; '.join(parts)}]".lstrip("\n"), facts

    async def _in_time(self, running: Coroutine[Any, Any, CommandResult]) -> CommandResult:
        """Return a command's result; it is ended when no time is left, as a new best script may need more of it at the end."""
        task, begun = asyncio.create_task(running), time.monotonic()
        try:
            while not (await asyncio.wait({task}, timeout=_LOOKED_AT))[0]:
                if time.monotonic() - begun > _SHORTEST and self._times()[0] <= 0:
                    return CommandResult("", None, time.monotonic() - begun, False, _OVERTAKEN, 0)
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _hold_for_jobs(self, begun: asyncio.Event) -> None:
        """Hold the lease until no background process runs any more."""
        async with self.lease.hold():
            begun.set()
            await self.box.wait_idle()

    _waiting: asyncio.Task[None] | None = None

    def _footer(self, turn: int) -> str:
        (left, _), looks = self._times(), max(0, self.settings.looks - 1 - self.looks.used)
        alone = self.assignment.alone
        line = f"[{left:.0f} s left; "
        if self.thought >= _TOLD:
            line += f"your reply took {self.thought:.0f} s; "
        if not alone:
            line += f"scripts of up to {self._longest(left):.0f} s can be scored, with time for their run at the end; "
            line += f"{plural(looks, 'look')} and one for the end; "
        line += f"reply {turn} of {self.settings.turns}]"
        if self.looks.progress:
            line += f"\n[{self.looks.progress}]"
        return "\n".join(filter(None, [line, self._warning(left)]))

    def _warning(self, left: float) -> str | None:
        """Return the warning for a coder with so many seconds left; None: it is too early for one."""
        alone = self.assignment.alone
        slowest = best_seconds(self.context, load_tree(self.context)) or 0.0
        if left >= min(_EARLIEST_WARNING, _LATEST_WARNING + (_LATEST_WARNING if alone else slowest)):
            return None
        return _ENDING_ALONE if alone else _ENDING

    def _longest(self, left: float) -> float:
        """Return how long a script may take that is scored now, in seconds; 0: none can be scored any more."""
        try:
            return look_seconds(self.context, left)
        except NoLook:
            return 0.0

    async def _shorten(self, turn: int) -> None:
        """Replace old turns of a conversation that has become too long by a summary, which code writes in a step."""
        conversation = self.conversation
        if not conversation.is_too_long(self.settings.context_characters):
            return

        async def summarize() -> dict[str, Any]:
            return {"text": conversation.summary(board(self.context, self.number))}

        made = await self.context.steps.once("lab.summary", summarize, node=self.number, attempt=turn)
        conversation.shorten(made["text"])

    async def _stop_waiting(self) -> None:
        """Release the lease of background processes, which have ended."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.gather(self._waiting, return_exceptions=True)

    # close

    async def _close(self, reason: str) -> None:
        """End all processes, score `work/solution.py` if it was not scored, and close the lab."""
        context = self.context
        await self.commands.settle()
        await self.box.close()
        await self._stop_waiting()
        # Whoever cleans up on the host may have taken it away.
        (self.folder / "work").mkdir(parents=True, exist_ok=True)
        # Where the bot was away when the lab's time ended, what is kept for the last look is there all the same.
        self.opened["ends_at"] = max(self.opened["ends_at"], context.budget.elapsed.wall() + self._last_look())
        # A step, as what it reads may be gone once work/ is tidied.
        closing = self.closing
        last = partial(closing.keep_submission, reason) if self.assignment.alone else closing.last_look
        await context.steps.once("lab.last", last, node=self.number)
        # Before it counts as closed, as its children copy what is left.
        await asyncio.to_thread(closing.tidy)
        report = lab(context.store, context.run_id, self.number)
        with context.store.write() as tx:
            if not self.looks.nodes and not self.assignment.alone:
                error = f"its lab left no script that was scored: {reason}"
                end_node(tx, context.run_id, self.number, "buggy", error=error)
            close_lab(tx, context.run_id, self.number, reason, report.report if report else None)
        context.say(f"lab {self.number} is closed: {reason}")

    def _unscored(self) -> bool:
        """Return whether `work/solution.py` is a script that the last look would score."""
        return not self.assignment.alone and self.closing.has_unscored()


def _items(known: Sequence[Sequence[str]]) -> tuple[Item, ...]:
    """Return dated things as they are stored in a step: id and time."""
    return tuple(Item(id, datetime.fromisoformat(at)) for id, at in known)
