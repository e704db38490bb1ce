"""A run's views, each built once, in the worker; if the data cannot be split, one with all rows serves for all."""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.findings import reason_in
from bot.evaluation.client.worker import Worker
from bot.evaluation.view_names import INFO, ViewKind, Withholding, view_kind
from bot.execution.folder import RunFolder
from bot.execution.stopwatch import Stopwatch
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout

FOLDS = 5
"""Folds for comparing experiments."""
_FIRST: ViewKind = "holdout"
"""The view that every run begins with; if it cannot be built, scores are self-reported."""

_WORDS: Mapping[ViewKind, str] = {
    "sample": "in the debug run on a sample of",
    "holdout": "on the hold-out view, with",
    "full": "in the refit, with",
    "rehearsal": "in the notebook check, where withheld rows replace the test set, with",
    "rehearsal-few": "in the notebook check, where a few withheld rows replace the test set, with",
}


@dataclass(eq=False)
class RunViews:
    """The data folders of one run."""

    card: TaskCard
    data: Path
    seed: int
    folder: RunFolder
    worker: Worker
    stopwatch: Stopwatch
    grader: Path | None = None
    withholding: Withholding = "script"
    self_reported: str | None = field(default=None, init=False)
    """Why the run's scores are those that scripts print; None: the evaluator's. It holds for the whole run."""
    _begun: bool = field(default=False, init=False)
    _no_folds: bool = field(default=False, init=False)
    _building: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def view(self, name: str) -> LabelledView:
        """Return a view, built at its first use; if the data cannot be split, all of it serves for every view.

        Raises:
            UsageError: there is no such view.
            UnsupportedLayout: the data holds no sample submission.
            InfrastructureFailure: the worker process failed.
        """
        view = view_kind(name)
        async with self._building:
            if not self._begun:
                await self._begin()
                self._begun = True
            if self.self_reported is not None:
                return self._view(_FIRST)
            await self._build(view)
        return self._view(view)

    @property
    def unscored(self) -> str | None:
        """Why no view is scored although labels were withheld; None: views are scored, or none were withheld."""
        return self.self_reported if self._view(_FIRST).truth.is_file() else None

    def _view(self, view: ViewKind) -> LabelledView:
        data, labels = self.folder.views / view, self.folder.evaluator / view
        return LabelledView(data, labels, self.card, self.grader)

    def describe(self, name: str) -> str:
        """Return the words for a view in errors, with its number of training rows."""
        view = view_kind(name)
        description = _WORDS.get(view, f"on the view `{name}`, with")
        if self.self_reported is not None:
            return "on all the data, because no rows could be withheld"
        info = self._info(view)
        return f"{description} {info['train_rows']:,} of {info['of_rows']:,} training rows"

    @property
    def growth(self) -> float:
        """All training rows over those of the hold-out view, which was built; 0 where no rows are withheld."""
        if self.self_reported is not None:
            return 0.0
        info = self._info(_FIRST)
        return float(info["of_rows"] / info["train_rows"])

    @property
    def split_kind(self) -> str | None:
        """How the rows of the hold-out view were withheld (`SplitKind`), which was built; None where none are."""
        return None if self.self_reported is not None else str(self._info(_FIRST)["split_kind"])

    def _info(self, view: ViewKind) -> Any:
        return json.loads((self._view(view).labels / INFO).read_text(encoding="utf-8"))

    async def folds(self) -> LabelledView | None:
        """Return the folds of the hold-out view's training rows, cut at their first use; None if there can be none.

        Its `data` holds what `write_folds` writes and sample_validation.csv, its labels are those of the rows in a fold.
        """
        await self.view(_FIRST)
        data, labels = self.folder.evaluator / "folds", self.folder.evaluator / "fold-labels"
        async with self._building:
            if self.self_reported is None and not data.is_dir() and not self._no_folds:
                try:
                    await self._build_folds(data, labels, "holdout")
                except UnsupportedLayout:
                    self._no_folds = True
        return LabelledView(data, labels, self.card, self.grader) if data.is_dir() else None

    async def folds_of(self, view: ViewKind) -> Path:
        """Return the folder with the folds of a view's training rows; raises UnsupportedLayout: there are too few rows."""
        data, labels = self.folder.evaluator / f"{view}-folds", self.folder.evaluator / f"{view}-labels"
        async with self._building:
            if not data.is_dir():
                await self._build_folds(data, labels, view)
        return data

    async def _build_folds(self, data: Path, labels: Path, of_view: ViewKind) -> None:
        with self.stopwatch.measure("views"):
            await self.worker.build_folds(
                self.data, self.card, self.seed, FOLDS, data, labels, self.withholding, of_view
            )

    async def _begin(self) -> None:
        """Build the first view; if that fails, the reason makes all scores self-reported."""
        first = self._view(_FIRST)
        try:
            await self._build(_FIRST)
            self.self_reported = reason_in(first.labels)
            if self.self_reported is None:
                with self.stopwatch.measure("views"):
                    await self.worker.check_view_scorable(first)
        except UnsupportedLayout as error:
            reason = str(error)
            with self.stopwatch.measure("views"):
                await self.worker.share_everything(self.data, self.card, reason, first.data, first.labels)
            self.self_reported = reason

    async def _build(self, name: ViewKind) -> None:
        view = self._view(name)
        if view.data.is_dir():  # built, and there only when complete, by an earlier start of the bot
            return
        with self.stopwatch.measure("views"):
            await self.worker.build_view(
                self.data, self.card, name, self.seed, view.data, view.labels, self.withholding
            )
