"""Similarity by sentence embeddings: a process apart loads the model, so that the bot's own never loads torch."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from state.children import end_child
from state.errors import InfrastructureFailure

_PROGRAM = Path(__file__).with_name("embedding_process.py")
_FIRST_SECONDS, _SECONDS = 300.0, 120.0
"""Limits of the first answer, for which torch and the model are loaded, and of each later one."""
_LONGEST_ANSWER = 1 << 24
_ENVIRONMENT = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
"""Variables that the process inherits; it never gets keys and tokens."""
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONUTF8": "1"}


class EmbeddingSimilarity:
    """Cosines of embeddings; the process starts with the first query, and ends with `aclose`."""

    of_meaning = True

    def __init__(self, model: Path, python: Path | None = None) -> None:
        """Prepare; nothing is started yet.

        Args:
            model: folder of a model of sentence-transformers.
            python: an interpreter that has that library; None: the bot's own.
        """
        self._command = (str(python or sys.executable), "-P", str(_PROGRAM), str(model))
        self._process: asyncio.subprocess.Process | None = None
        self._alone = asyncio.Lock()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the cosines, those below 0 as 0; the process embeds each text once.

        Raises:
            InfrastructureFailure: the library or the model is missing, or the process died or took too long.
        """
        if not texts:
            return []
        line = json.dumps({"query": query, "texts": list(texts)}).encode()
        async with self._alone:
            try:
                async with asyncio.timeout(_SECONDS if self._process else _FIRST_SECONDS):
                    answer = json.loads(await self._exchange(line))
            except (OSError, EOFError, ValueError, TimeoutError) as error:
                await self._stop()
                raise InfrastructureFailure(f"embeddings cannot be had: {error or 'no answer in time'}") from error
            except BaseException:
                # Cancelled: the next answer would not be the next query's.
                await self._stop()
                raise
        if "error" in answer:
            raise InfrastructureFailure(f"embeddings cannot be had: {answer['error']}")
        return [max(0.0, float(score)) for score in answer["scores"]]

    async def _exchange(self, line: bytes) -> bytes:
        if self._process is None or self._process.returncode is not None:
            self._process = await self._started()
        process = self._process
        if process.stdin is None or process.stdout is None:
            raise ConnectionError("the process did not start")
        process.stdin.write(line + b"\n")
        await process.stdin.drain()
        return await process.stdout.readuntil(b"\n")

    async def _started(self) -> asyncio.subprocess.Process:
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        return await asyncio.create_subprocess_exec(
            *self._command,
            limit=_LONGEST_ANSWER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment | _OFFLINE,
            start_new_session=True,
        )

    async def aclose(self) -> None:
        """End the process."""
        await self._stop()

    async def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            await end_child(process)
