"""An agent of the owner's at work in a lab: started with TASK.md as its prompt, warned before the end, and ended in order."""

import asyncio
import shlex
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from bot.coder.coder_config import OwnCoder
from bot.coder.gateway import Gateway
from bot.coder.lab.calls import LabAnswer, LabCall
from bot.coder.lab.commands import Commands
from bot.coder.lab.leases import LabLease, LabSandbox
from bot.coder.lab.marking import LineMark
from bot.coder.lab.news import LabNews
from bot.coder.lab.steps import TURN, TURN_BEGUN, BegunTurn, TurnResult
from bot.engine.context import RunContext
from bot.models import Item
from bot.models.quoting import in_quotes, line
from sandbox.lab import CommandResult
from state.clock import SystemClock
from state.errors import BudgetExceeded
from state.labs import end_turn, lab
from state.steps import Key

_MOST_FAILED = 3
"""Starts of an agent that ended with a failure."""
_GRACE = 20.0
"""Seconds that an agent has to end by itself after `lab done`, as it mostly asks its model once more."""
_LOOKED_EVERY = 1.0
_MAX_OUTPUT = 16_000
"""Characters of the end of what an agent printed that are kept with its turn."""
_REASON_CHARACTERS = 300
_TASK_AGAIN = (
    "# You are starting again\n"
    "You worked in this lab before, until {why}. /lab/work/ is as you left it, with your scripts and notes: "
    "read them first. You have {left:.0f} s left, whatever is stated below.\n\n"
)
_CLOCK = "Your time ends at {at:%H:%M:%S} UTC (see `date -u`).\n\n"
_CODER_DONE = "its coder finished"
_INTERRUPTED = "the bot was restarted"
# A login shell, in which some agents run commands, would begin with the system's PATH, on which there is no `lab`.
_START = 'printf "export PATH=%q\\n" "$PATH" >"$HOME/.profile"; exec gateway bash -c {command}'


@dataclass
class AgentSession:
    """The work of one agent in one lab, during one start of the bot; it answers the calls of the command `lab`."""

    context: RunContext
    coder: OwnCoder
    number: int
    folder: Path
    prompt: str
    """The text of TASK.md."""
    alone: bool
    commands: Commands
    updates: LabNews
    marking: LineMark
    seconds_left: Callable[[], float]
    """Returns the seconds that are left."""
    warning: Callable[[float], str | None]
    """Returns the warning for so many remaining seconds; None: it is too early."""
    look: Callable[[], Coroutine[Any, Any, None]]
    """Called while the agent runs, to check the files that it has left."""
    fresh: list[Item] = field(default_factory=list)
    """The dated things that it can have read since its last request."""
    _done_at: float | None = None

    @property
    def news(self) -> list[str]:
        """Answers that no client waited for."""
        return self.commands.news

    async def __call__(self, call: LabCall) -> LabAnswer:
        """Answer a call of `lab`, followed by the news, the remaining time, and the warning before the end."""
        answer = await self.commands(call)
        lines = [f"[meanwhile] {news}" for news in self.commands.take_news()]
        lines += [f"[news] {news}" for news in await asyncio.to_thread(self.updates.lines)]
        self.fresh += [*self.updates.take_items(), *self.commands.take_shown()]
        lines.append(f"[{self.seconds_left():.0f} s left]")
        text = "\n".join(
            filter(None, [self.marking.engine(answer.text), self.marking.engine("\n".join(lines)), self.notice()])
        )
        return replace(answer, text=text)

    def take_fresh(self) -> list[Item]:
        """Return the dated things that it can have read since the last call."""
        fresh, self.fresh = self.fresh, []
        return fresh

    def notice(self) -> str | None:
        """Return the warning, from its time until `lab done`: an agent that never calls `lab` would else see none."""
        warning = None if self.commands.done else self.warning(self.seconds_left())
        return None if warning is None else self.marking.engine(warning)

    async def through(self, box: LabSandbox, gateway: Gateway, lease: LabLease) -> str:
        """Start the agent, again where it failed or the bot was killed, until the lab is over; return why it is.

        Each start is a turn of the lab, and a step.

        Raises:
            BudgetExceeded: a cap was reached.
            ModelError: no model answers.
        """
        turn, failed, before = 0, 0, ""
        while True:
            turn += 1
            run = partial(self._turn, turn, before, box, gateway, lease)
            result = await self.context.steps.once(TURN, run, Key(self.number, attempt=turn))
            if result.capped:
                raise BudgetExceeded(result.reason or "a cap was reached")
            if result.reason is not None:
                return result.reason
            before = result.stop_reason
            failed += before != _INTERRUPTED
            if failed == _MOST_FAILED:
                return f"its coder failed {failed} times; the last error: {before}"

    async def _turn(self, turn: int, before: str, box: LabSandbox, gateway: Gateway, lease: LabLease) -> TurnResult:
        """Run the agent once, unless that was started before; return `reason` if the lab is over, else `why` it is not."""
        interrupted = True

        async def begin() -> BegunTurn:
            nonlocal interrupted
            interrupted = False
            return BegunTurn()

        await self.context.steps.once(TURN_BEGUN, begin, Key(self.number, attempt=turn))
        started = time.monotonic()
        result: CommandResult | None = None
        reason, stop_reason = None, _INTERRUPTED
        row = lab(self.context.store, self.context.run_id, self.number)
        if interrupted and row is not None and row.report:
            reason = _CODER_DONE
        elif not interrupted:
            turns_before = gateway.turns_taken
            result, reason = await self._run(turn, before, box, gateway, lease)
            if gateway.over is not None and not isinstance(gateway.over, BudgetExceeded):
                raise gateway.over
            if result is not None and reason is None:
                reason, stop_reason = self._end_of_lab(result, gateway, gateway.turns_taken - turns_before)
        with self.context.store.write() as tx:
            facts = {"seconds": round(time.monotonic() - started, 3), "exit": result.exit_code if result else None}
            end_turn(tx, self.context.run_id, self.number, turn, command=self.coder.name, **facts)
        text = await asyncio.to_thread(self._output, turn)
        return TurnResult(
            f"{text}\n[{reason or stop_reason}]",
            self.commands.done,
            reason=reason,
            stop_reason=stop_reason,
            capped=gateway.over is not None,
        )

    async def _run(
        self, turn: int, before: str, box: LabSandbox, gateway: Gateway, lease: LabLease
    ) -> tuple[CommandResult | None, str | None]:
        """Run the agent until it ends, or its lab has to; return how it ended, or why the lab has to."""
        await asyncio.to_thread(self._write_task, before)
        command = _START.format(command=shlex.quote(self.coder.command))
        # From outside nobody sees whether it computes or waits for its model: it holds the cores all the time.
        async with lease.hold() as lease_in_use:
            with self.context.executor.stopwatch.measure("commands"):
                # The watch ends it in time; the sandbox's own limit comes after that.
                running = asyncio.create_task(box.run(turn, command, self.seconds_left() + 2 * _GRACE, lease_in_use))
                try:
                    while (reason := self._over(gateway)) is None and not running.done():
                        await self.look()
                        await asyncio.wait({running}, timeout=_LOOKED_EVERY)
                    return (running.result(), reason) if running.done() else (None, reason)
                finally:
                    running.cancel()
                    await asyncio.gather(running, return_exceptions=True)

    def _over(self, gateway: Gateway) -> str | None:
        """Return why the lab has to end while its agent runs."""
        if self.commands.done:
            self._done_at = self._done_at or time.monotonic()
            return _CODER_DONE if time.monotonic() > self._done_at + _GRACE else None
        if gateway.over is not None:
            return str(gateway.over)
        return "it ran out of time" if self.seconds_left() <= 0 else gateway.closed

    def _end_of_lab(self, result: CommandResult, gateway: Gateway, turns_taken: int) -> tuple[str | None, str]:
        """Return why the lab is over, its agent having ended by itself; else how it failed."""
        if self.commands.done:
            return _CODER_DONE, ""
        if gateway.closed is not None:
            return gateway.closed, ""
        if result.exit_code == 0:
            return "its coder exited", ""
        last = in_quotes(result.output.strip().rpartition("\n")[2], _REASON_CHARACTERS)
        notice = line(result.notice or "", _REASON_CHARACTERS)
        description = notice or f"it exited with status {result.exit_code}: {last}"
        return (None if turns_taken else f"its coder sent no request to its model: {description}"), description

    def _write_task(self, before: str) -> None:
        """Write TASK.md in place, as the file itself is mounted: most agents see no clock, and know only that of the machine."""
        seconds_left = self.seconds_left()
        over = SystemClock().now() + timedelta(seconds=seconds_left)
        text = _TASK_AGAIN.format(why=before, left=seconds_left) if before else ""
        text += f"{self.prompt.rstrip()}\n\n{_CLOCK.format(at=over)}"
        (self.folder / "TASK.md").write_text(text, encoding="utf-8")

    def _output(self, turn: int) -> str:
        """Return the end of what the agent printed."""
        try:
            text = (self.folder / "logs" / f"{turn}.txt").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return text[-_MAX_OUTPUT:].rstrip()
