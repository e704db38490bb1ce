"""Running pushed notebooks for real: in the sandbox, where they find Kaggle's folders and no network."""

import asyncio
import json
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from sandbox import Breach, ExecutionRequest, ExitReason, Limits, ResourceUsage, Sandbox

_END_WORDS = {
    ExitReason.TIMED_OUT: "Notebook Timeout",
    ExitReason.OUT_OF_MEMORY: "Notebook Exceeded Allowed Compute",
    ExitReason.DISK_LIMIT: "Notebook Exceeded Allowed Compute",
    ExitReason.PROCESS_LIMIT: "Notebook Exceeded Allowed Compute",
    ExitReason.STOPPED: "Notebook Cancelled",
    ExitReason.INFRASTRUCTURE: "Notebook Server Error",
}


@dataclass(frozen=True)
class NotebookOutput:
    """What a notebook's run left."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    log: str = ""
    error: str | None = None
    """Why it failed, in the few words that Kaggle shows; None: it ran to its end."""


class NotebookRun:
    """A run that waits its turn, goes on or has ended, whatever the site's clock says; a `Watch` that can end it."""

    def __init__(self) -> None:
        self.future: Future[NotebookOutput] = Future()
        self._stop = threading.Event()

    def stop(self) -> None:
        """End it."""
        self._stop.set()

    def output(self, chunk: bytes) -> None:
        """Receive new output."""

    def usage(self, usage: ResourceUsage) -> Breach | None:
        """End it where it was asked to end."""
        return Breach(ExitReason.STOPPED, "It was cancelled.") if self._stop.is_set() else None


class Runner:
    """Runs notebooks one after another, in a thread of its own."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="notebooks")
        self._scratch = tempfile.TemporaryDirectory(prefix="rehearsal-")
        self.folder = Path(self._scratch.name)
        """For what notebooks find."""
        self._runs: list[NotebookRun] = []
        self._numbers = count(1)
        (self.folder / "empty").mkdir()
        (self.folder / "empty").chmod(0o755)

    def start(self, source: str, inputs: Mapping[str, Path], *, seconds: float, keep: str) -> NotebookRun:
        """Start a run of a notebook's JSON or of a script, in its turn, for so long by a real clock; it is to write `keep`.

        The inputs are folders by their paths below `/kaggle/input`.
        """
        run, number = NotebookRun(), next(self._numbers)
        request = ExecutionRequest(
            execution_id=f"notebook-{number}",
            script=code_of(source),
            view=self.folder / "empty",  # Kaggle has no folder `data`
            out=self.folder / f"run-{number}",
            limits=Limits(seconds),
            keep=(keep,),
            inputs=inputs,
        )
        run.future = self._thread.submit(self._follow, run, request)
        self._runs.append(run)
        return run

    def settle(self) -> None:
        """Return when all runs have ended."""
        wait([run.future for run in list(self._runs)])

    def close(self) -> None:
        """End all runs, and remove their files."""
        for run in self._runs:
            run.stop()
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._scratch.cleanup()

    def _follow(self, run: NotebookRun, request: ExecutionRequest) -> NotebookOutput:
        outcome = asyncio.run(self._sandbox.run(request, run))
        files = {name: path.read_bytes() for name, path in outcome.files.items()}
        if outcome.reason is ExitReason.FINISHED:
            return NotebookOutput(files, outcome.output)
        error = _END_WORDS.get(outcome.reason, "Notebook Threw Exception")
        return NotebookOutput({}, f"{outcome.output}{outcome.detail or ''}\n", error)


def code_of(source: str) -> str:
    """Return the code cells of a notebook, one below the other; a script is one already. Magics stay, and are errors."""
    try:
        cells = json.loads(source)["cells"]
    except (ValueError, KeyError, TypeError):
        return source
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell.get("cell_type") == "code")
