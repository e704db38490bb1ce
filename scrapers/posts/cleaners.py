"""Cleaners: child processes that parse foreign text for the bot, so that its event loop never does.

A child that dies of a text, or takes too long, is replaced; the text is then shortened by simple means, and nothing else
is lost. Only a child loads a parser of HTML and numpy, never the bot's own process.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from scrapers.posts.cleaning import LARGEST_TEXT, both_ends, readable
from scrapers.posts.line_child import LineChild
from scrapers.posts.sketches import Sketch

DEFAULT_MEMORY = 2 * 1024**3
DEFAULT_SECONDS = 60
LARGEST_SOURCE = 64_000_000
"""Characters; of a longer source only the two ends are read."""
_LONGEST_ANSWER = 1 << 28
"""Bytes of a line: a chunk of cleaned texts, as JSON."""


@dataclass(frozen=True)
class RawPost:
    """A post's text as the site sends it."""

    form: Literal["html", "markdown", "kernel"]
    text: str
    language: str | None = None
    """A kernel's language, as the site names it."""
    kernel_type: str | None = None
    """Of a kernel: `notebook` or `script`."""


@dataclass(frozen=True)
class CleanText:
    """A text that can be stored, and its sketch for recognition."""

    text: str
    sketch: Sketch | None
    """None for a text without words, and after a problem."""
    problem: str | None = None
    """Why the text is only shortened: cleaning failed, or ended the process."""


class Cleaners:
    """A few child processes that clean side by side; they start with the first text, and end with `aclose`.

    Used as an asynchronous context manager. A cancelled call may still have had an effect; its child is killed.
    """

    def __init__(
        self,
        count: int = 2,
        *,
        memory_bytes: int = DEFAULT_MEMORY,
        seconds: int = DEFAULT_SECONDS,
        program: str = "scrapers.posts.cleaner_process",
    ) -> None:
        """Prepare; no process is started yet.

        Libraries take 0.7 GiB of each one's memory. The seconds are for the texts of one call together, and for each of
        them alone after that.
        """
        self.count = count
        self._idle: asyncio.LifoQueue[LineChild] = asyncio.LifoQueue()
        command = (sys.executable, "-P", "-m", program, str(memory_bytes), str(seconds))
        paths = (str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", ""))
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1"}
        # The memory of a large notebook goes back to the system at once, not to the next notebook.
        environment |= {"OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "131072"}
        self._children = [LineChild(command, environment, _LONGEST_ANSWER) for _ in range(count)]
        for child in self._children:
            self._idle.put_nowait(child)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the children."""
        for child in self._children:
            await child.stop()

    @property
    def pids(self) -> list[int]:
        """Process ids of the children that live."""
        return [pid for child in self._children if (pid := child.pid) is not None]

    async def clean(self, sources: Sequence[RawPost]) -> list[CleanText]:
        """Clean some texts in one child, in order; meant for many small ones or a large one at a time."""
        if not sources:
            return []
        child = await self._idle.get()
        try:
            answer = await self._exchange(child, sources)
            if answer is not None:
                return answer
            if len(sources) == 1:
                return [_cut_down(sources[0])]
            # One of them ended the child; one at a time, the others can be cleaned.
            return [(await self._exchange(child, [source]) or [_cut_down(source)])[0] for source in sources]
        finally:
            self._idle.put_nowait(child)

    async def _exchange(self, child: LineChild, sources: Sequence[RawPost]) -> list[CleanText] | None:
        """Return a child's answer; None if it died of the texts or took too long, in which case it ends itself."""
        requests = [asdict(source) | {"text": both_ends(source.text, LARGEST_SOURCE)} for source in sources]
        try:
            answer = await child.exchange(json.dumps(requests, ensure_ascii=False).encode(errors="surrogatepass"))
        except (OSError, EOFError):
            return None
        return [_cleaned(entry) for entry in json.loads(answer)]


def _cleaned(answer: dict[str, Any]) -> CleanText:
    sketch = None
    if answer["sha256"] is not None:
        code, prose = (answer[part] and bytes.fromhex(answer[part]) for part in ("code", "prose"))
        sketch = Sketch(answer["sha256"], code, prose)
    return CleanText(answer["text"], sketch, answer["problem"])


def _cut_down(source: RawPost) -> CleanText:
    """Return a shortened text that no child could clean, by quick and safe means."""
    text = readable(both_ends(source.text, 2 * LARGEST_TEXT))
    return CleanText(text, None, "cleaning the text failed or took too long")
