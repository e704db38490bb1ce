"""What is left of a lab when it closes: its script, scored by the last look, or the file of a coder that works alone."""

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.coder.lab.looks import Looks, NoLook
from bot.coder.lab.opening import INFER, SCRIPTS, SOLUTION
from bot.engine.context import RunContext
from bot.execution.record import GUARDED
from sandbox.collect import Collected, collect
from sandbox.lab.remains import tidy_work
from state.errors import BudgetExceeded
from state.progress import end_node

_SCRIPT_BYTES = 100_000
_SUBMISSION = "submission.csv"


@dataclass(frozen=True)
class Closing:
    """Takes what counts out of a lab's folder, by the careful reader."""

    context: RunContext
    number: int
    folder: Path
    looks: Looks

    def has_unscored(self) -> bool:
        """Return whether `work/solution.py` is a script that was not scored."""
        if not (self.folder / "work").is_dir():
            return False
        kept = self._scripts().kept
        texts = [kept[name].read_text(encoding="utf-8", errors="replace") if name in kept else None for name in SCRIPTS]
        return texts[0] is not None and not self.looks.scored(texts[0], texts[1])

    def _scripts(self) -> Collected:
        """Return `work/solution.py`, for a notebook with `infer.py`, as copies beside `work/`."""
        names = SCRIPTS if self.context.takes_notebooks else (SOLUTION,)
        return collect(self.folder / "work", names, self.folder, cap=_SCRIPT_BYTES)

    async def last_look(self) -> dict[str, Any]:
        """Spend the last look on `work/solution.py`, which no process can change any more."""
        found = await asyncio.to_thread(self._scripts)
        answers = found.notes
        try:
            answers += await self.looks.finish_begun()
            if (path := found.kept.get(SOLUTION)) is not None:
                script = path.read_text(encoding="utf-8")
                infer = found.kept[INFER].read_text(encoding="utf-8") if INFER in found.kept else None
                answers.append(await self.looks.score(script, "as its lab left it", None, closing=True, infer=infer))
        except (NoLook, BudgetExceeded, UnicodeDecodeError) as error:
            answers.append(str(error))
        return {"answers": answers}

    async def keep_submission(self, reason: str) -> dict[str, Any]:
        """Store the submission of a coder that works alone, as the one that its node hands in.

        Args:
            reason: why its lab ended.
        """
        context = self.context
        place = context.executor.submission_of(self.number, GUARDED).parent
        place.mkdir(parents=True, exist_ok=True)
        found = await asyncio.to_thread(collect, self.folder / "work", [_SUBMISSION, SOLUTION], place)
        error = None if _SUBMISSION in found.kept else "; ".join(found.notes) or f"it left no {_SUBMISSION}: {reason}"
        if error is None:
            error = await context.executor.form_fault(found.kept[_SUBMISSION])
        with context.store.write() as tx:
            end_node(tx, context.run_id, self.number, "buggy" if error else "valid", error=error)
        return {}

    def tidy(self) -> None:
        """Keep of the closed lab its logs and its work, bounded: folds, bank and posts lie with the run as well."""
        for name in ("bank", "community", "knowledge"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        (self.folder / "folds.csv").unlink(missing_ok=True)
        for name in ("logs", "work"):
            tidy_work(self.folder / name)
