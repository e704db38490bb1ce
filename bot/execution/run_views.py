"""A run's views, each built once, in the worker; if the data cannot be split, one with all rows serves for all."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.self_reported import reason_in
from bot.evaluation.answers.view_names import INFO, ViewKind, ViewName
from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.stopwatch import Stopwatch
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout

FOLDS = 5
"""Folds for comparing experiments."""
_FIRST = ViewName("holdout")
"""The view that every run begins with; if it cannot be built, scores are self-reported."""

_WORDS: Mapping[ViewKind, str] = {
    "sample": "in the debug run on a sample of",
    "holdout": "on the hold-out view, with",
    "full": "in the refit, with",
    "rehearsal": "in the dress rehearsal, where the test set is withheld rows, with",
    "rehearsal-few": "in the dress rehearsal, where the test set is a few withheld rows, with",
}


class RunViews:
    """The data folders of one run."""

    def __init__(
        self,
        card: TaskCard,
        data: Path,
        seed: int,
        folder: RunFolder,
        worker: Worker,
        stopwatch: Stopwatch,
        grader: Path | None = None,
    ) -> None:
        self._card = card
        self._data = data
        self._seed = seed
        self._folder = folder
        self._worker = worker
        self._stopwatch = stopwatch
        self._grader = grader
        self._begun = False
        self._no_folds = False
        self._building = asyncio.Lock()
        self.self_reported: str | None = None
        """Why the run's scores are those that scripts print; None: the evaluator's. It holds for the whole run."""

    async def view(self, name: str) -> LabelledView:
        """Return a view, built at its first use; if the data cannot be split, all of it serves for every view.

        Raises:
            UsageError: there is no such view.
            UnsupportedLayout: the data holds no sample submission, or too few rows for so many folds.
            InfrastructureFailure: the worker process failed.
        """
        view = ViewName.parse(name)
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

    def _view(self, view: ViewName) -> LabelledView:
        data, labels = self._folder.views / view.folder, self._folder.evaluator / view.folder
        return LabelledView(data, labels, self._card, self._grader)

    def described(self, name: str) -> str:
        """Return the words for a view in errors, with its number of training rows."""
        where = _WORDS.get(ViewName.parse(name).kind, f"on the view `{name}`, with")
        if self.self_reported is not None:
            return "on all the data, of which no rows could be withheld"
        info = self._info(ViewName.parse(name))
        return f"{where} {info['train_rows']:,} of {info['of_rows']:,} training rows"

    @property
    def growth(self) -> float:
        """All training rows over those of the hold-out view, which was built."""
        info = self._info(_FIRST)
        return float(info["of_rows"] / info["train_rows"])

    def _info(self, view: ViewName) -> Any:
        return json.loads((self._view(view).labels / INFO).read_text(encoding="utf-8"))

    async def folds(self) -> LabelledView | None:
        """Return the folds of the hold-out view's training rows, cut at their first use; None if there can be none.

        Its `data` holds folds.csv and sample_validation.csv, its labels are those of the rows in a fold.
        """
        await self.view(str(_FIRST))
        data, labels = self._folder.evaluator / "folds", self._folder.evaluator / "fold-labels"
        async with self._building:
            if self.self_reported is None and not data.is_dir() and not self._no_folds:
                try:
                    with self._stopwatch.measure("views"):
                        await self._worker.build_folds(self._data, self._card, self._seed, FOLDS, data, labels)
                except UnsupportedLayout:
                    self._no_folds = True
        return LabelledView(data, labels, self._card, self._grader) if data.is_dir() else None

    async def _begin(self) -> None:
        """Build the first view; if that fails, the reason makes all scores self-reported."""
        first = self._view(_FIRST)
        try:
            await self._build(_FIRST)
            self.self_reported = reason_in(first.labels)
            if self.self_reported is None:
                with self._stopwatch.measure("views"):
                    await self._worker.check_view_scorable(first)
        except UnsupportedLayout as error:
            reason = str(error)
            with self._stopwatch.measure("views"):
                await self._worker.share_everything(self._data, self._card, reason, first.data, first.labels)
            self.self_reported = reason

    async def _build(self, name: ViewName) -> None:
        view = self._view(name)
        if view.data.is_dir():  # built, and there only when complete, by an earlier start of the bot
            return
        with self._stopwatch.measure("views"):
            await self._worker.build_view(self._data, self._card, str(name), self._seed, view.data, view.labels)
