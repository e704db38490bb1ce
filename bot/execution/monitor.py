"""The monitor: a model that looks at a long execution now and then, and may end it with a reason."""

import asyncio
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from bot.execution.output import clean_output
from bot.execution.task import TaskText
from bot.models.ask import Asker
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from sandbox import Breach, ExecutionRequest, ExitReason, Usage
from sandbox.output import CappedOutput
from state.clock import Clock
from state.errors import BotError, Unparsable
from state.store import Store
from state.tables import Node

_SHOWN_BYTES = 20_000
"""Of the output, half from its beginning; what is cleaned out of it makes room for the rest."""
_SHOWN_CHARACTERS = 6_000


class MonitorAnswer(BaseModel):
    """Whether the execution goes on."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    action: Literal["continue", "stop"]
    reason: str = Field(default="", max_length=1_000)


@dataclass(frozen=True)
class MonitorRun(TemplatePrompt[MonitorAnswer]):
    """Ask whether an execution that is still running is worth its time."""

    template: ClassVar[str] = "monitor_run.j2"
    volatile: ClassVar[Mapping[str, object]] = {"seconds": 0.0, "limit": 0.0, "usage": "", "output": ""}

    task: TaskText
    plan: str
    view: str
    seconds: float
    limit: float
    usage: str
    output: str

    def parse(self, text: str) -> MonitorAnswer:
        """Read the JSON answer; raises Unparsable for a stop without a reason."""
        answer = json_answer(text, MonitorAnswer)
        if answer.action == "stop" and not answer.reason.strip():
            raise Unparsable("a stop needs a reason that the script's author can act on")
        return answer


class Onlooker:
    """The monitor's side of one execution: a `Watch` that keeps output and usage, and ends the execution on request."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._output = CappedOutput(_SHOWN_BYTES)
        self._usage = Usage(0.0)
        self._stop: str | None = None

    def output(self, chunk: bytes) -> None:
        """Keep the beginning and the end."""
        with self._lock:
            self._output.add(chunk)

    def usage(self, usage: Usage) -> Breach | None:
        """Keep the measure; end it if that was asked for."""
        self._usage = usage
        return None if self._stop is None else Breach(ExitReason.KILLED_BY_MONITOR, self._stop)

    def seen(self) -> tuple[str, Usage]:
        """Return what it printed and uses; from any thread."""
        with self._lock:
            return self._output.text(), self._usage

    def stop(self, reason: str) -> None:
        """End the execution at its next measure; from any thread."""
        self._stop = reason


class Monitor:
    """Asks the model, at an interval, about each execution of a run; whatever fails here, the execution goes on."""

    def __init__(
        self, asker: Asker, store: Store, run_id: str, clock: Clock, task: Callable[[], TaskText], interval: float
    ) -> None:
        self._asker = asker
        self._store = store
        self._run_id = run_id
        self._clock = clock
        self._task = task
        self._interval = interval
        self._asking: set[asyncio.Task[MonitorAnswer]] = set()

    @asynccontextmanager
    async def attending(self, request: ExecutionRequest, node: int, view: str) -> AsyncIterator[Onlooker]:
        """Look on while the execution goes on inside; its end does not wait for a question that is under way."""
        onlooker = Onlooker()
        looking = asyncio.create_task(self._look_on(onlooker, request, node, view))
        try:
            yield onlooker
        finally:
            looking.cancel()
            await asyncio.wait({looking})

    async def aclose(self) -> None:
        """Give up questions whose execution has ended."""
        left = list(self._asking)
        for asked in left:
            asked.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _look_on(self, onlooker: Onlooker, request: ExecutionRequest, node: int, view: str) -> None:
        try:
            look = 0
            while self._interval > 0:
                await self._clock.sleep(self._interval)
                look += 1
                answer = await self._ask(self._prompt(onlooker, request, node, view), request, node, look)
                if answer.action == "stop":
                    onlooker.stop(answer.reason)
                    return
        except Exception:  # a worker's supervision boundary: a traceback is kept as an event
            # Redacted before it is cut, or half a secret would be left.
            trace = self._store.redactor.text(traceback.format_exc())[-8_000:]
            with self._store.write() as tx:
                tx.record("worker.crashed", run_id=self._run_id, node=node, traceback=trace)

    async def _ask(self, prompt: MonitorRun, request: ExecutionRequest, node: int, look: int) -> MonitorAnswer:
        """Return the answer, `continue` where there is none; the call is paid to its end, also when nobody waits for it."""
        name = f"monitor:{request.execution_id}:{look}"
        asked = asyncio.create_task(self._asker.ask(prompt, role="monitor", name=name, node=node))
        self._asking.add(asked)
        asked.add_done_callback(self._asked)
        try:
            return await asyncio.shield(asked)
        except BotError:
            return MonitorAnswer(action="continue")

    def _asked(self, task: asyncio.Task[MonitorAnswer]) -> None:
        self._asking.discard(task)
        if not task.cancelled():
            task.exception()  # seen, though nobody may be left who waits for it

    def _prompt(self, onlooker: Onlooker, request: ExecutionRequest, node: int, view: str) -> MonitorRun:
        output, usage = onlooker.seen()
        with self._store.read() as session:
            plan = session.get_one(Node, (self._run_id, node)).plan
        return MonitorRun(
            task=self._task(),
            plan=plan,
            view=view,
            seconds=usage.seconds,
            limit=request.limits.seconds,
            usage=_usage_words(usage),
            output=clean_output(output, _SHOWN_CHARACTERS) or "(nothing)",
        )


def _usage_words(usage: Usage) -> str:
    """Return what it uses, as far as that is known."""
    words = []
    if usage.cpu_seconds is not None:
        words.append(f"{usage.cpu_seconds:.0f} s of processor time")
    if usage.memory_bytes is not None:
        words.append(f"{usage.memory_bytes / 1024**3:.2f} GiB of memory")
    if usage.written_bytes is not None:
        words.append(f"{usage.written_bytes / 1e9:.2f} GB of files")
    if usage.gpu_memory_bytes is not None:
        words.append(f"{usage.gpu_memory_bytes / 1024**3:.2f} GiB of GPU memory")
    if usage.gpu_busy is not None:
        words.append(f"its GPUs {usage.gpu_busy:.0%} of the time")
    return ", ".join(words) or "an unknown amount of resources"
