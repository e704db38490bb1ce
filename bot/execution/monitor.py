"""The monitor: a model that checks long executions at intervals, and may end one with a reason."""

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
"""Bytes of output that are kept, half from its beginning; more than are shown, as cleaning shortens it."""
_SHOWN_CHARACTERS = 6_000


class MonitorAnswer(BaseModel):
    """Whether the execution goes on."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    action: Literal["continue", "stop"]
    reason: str = Field(default="", max_length=1_000)


@dataclass(frozen=True)
class MonitorRun(TemplatePrompt[MonitorAnswer]):
    """Asks whether a running execution is worth its time."""

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


class MonitorWatch:
    """A `Watch` that keeps an execution's output and usage for the monitor, and ends the execution on request."""

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
        """Keep the measurement; end the execution if `stop` was called."""
        self._usage = usage
        return None if self._stop is None else Breach(ExitReason.KILLED_BY_MONITOR, self._stop)

    def seen(self) -> tuple[str, Usage]:
        """Return the output and the last usage; from any thread."""
        with self._lock:
            return self._output.text(), self._usage

    def stop(self, reason: str) -> None:
        """End the execution at its next measurement; from any thread."""
        self._stop = reason


class Monitor:
    """Asks the model at intervals about each execution of a run; no failure of it ends an execution."""

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
    async def watching(self, request: ExecutionRequest, node: int, view: str) -> AsyncIterator[MonitorWatch]:
        """Check the execution that runs inside the context; its end does not wait for a question that is under way."""
        watch = MonitorWatch()
        checks = asyncio.create_task(self._check(watch, request, node, view))
        try:
            yield watch
        finally:
            checks.cancel()
            await asyncio.wait({checks})

    async def aclose(self) -> None:
        """Cancel questions whose execution has ended."""
        left = list(self._asking)
        for asked in left:
            asked.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _check(self, watch: MonitorWatch, request: ExecutionRequest, node: int, view: str) -> None:
        try:
            number = 0
            while self._interval > 0:
                await self._clock.sleep(self._interval)
                number += 1
                answer = await self._ask(self._prompt(watch, request, node, view), request, node, number)
                if answer.action == "stop":
                    watch.stop(answer.reason)
                    return
        except Exception:  # a worker's supervision boundary: a traceback is kept as an event
            # Redact before cutting, or half a secret could be left.
            trace = self._store.redactor.text(traceback.format_exc())[-8_000:]
            with self._store.write() as tx:
                tx.record("worker.crashed", run_id=self._run_id, node=node, traceback=trace)

    async def _ask(self, prompt: MonitorRun, request: ExecutionRequest, node: int, number: int) -> MonitorAnswer:
        """Return the answer, `continue` if there is none; the call goes on to its end even if the execution ends."""
        name = f"monitor:{request.execution_id}:{number}"
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
            task.exception()  # retrieved, or asyncio would log it as never retrieved

    def _prompt(self, watch: MonitorWatch, request: ExecutionRequest, node: int, view: str) -> MonitorRun:
        output, usage = watch.seen()
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
    """Return an execution's usage in words, as far as it is known."""
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
