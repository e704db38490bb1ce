"""A run's views: each built once, in the worker; where the data cannot be split, one that withholds nothing serves for all."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

from bot.evaluation.views.names import INFO, ViewKind, ViewName
from bot.evaluation.views.self_reported import reason_in
from bot.evaluation.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.stopwatch import Stopwatch
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout

_FIRST = "holdout"
"""The view that every run begins with: if it can be built, so can a score be that is not self-reported."""

_WORDS: Mapping[ViewKind, str] = {
    "sample": "in the debug run on a sample of",
    "holdout": "on the hold-out view, with",
    "full": "in the refit, with",
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
        self._views: dict[str, Path] = {}
        self._building = asyncio.Lock()
        self.self_reported: str | None = None
        """Why the run's scores are what scripts print; None: they are the evaluator's. It holds for the whole run."""

    async def view(self, name: str) -> Path:
        """Return a view's folder, built at its first use.

        Raises:
            UsageError: there is no such view.
            UnsupportedLayout: the data holds no sample submission, or too few rows for so many folds.
            InfrastructureFailure: the worker process failed.
        """
        view = ViewName.parse(name)
        async with self._building:
            if _FIRST not in self._views:
                await self._begin()
            if self.self_reported is not None:
                return self._views[_FIRST]
            if str(view) not in self._views:
                self._views[str(view)] = await self._built(view)
        return self._views[str(view)]

    @property
    def unscored(self) -> str | None:
        """Why no view is scored though labels were withheld from one; None: they are, or none were."""
        withheld = (self.labels(_FIRST) / "labels.csv").is_file()
        return self.self_reported if withheld else None

    def labels(self, name: str) -> Path:
        """Return the folder with a view's withheld labels, which is for the worker alone."""
        return self._folder.evaluator / ViewName.parse(name).folder

    def described(self, name: str) -> str:
        """Say on what a script runs that runs on a view: which view that is, and how many rows it has to train on."""
        where = _WORDS.get(ViewName.parse(name).kind, f"on the view `{name}`, with")
        if self.self_reported is not None:
            return "on all the data, of which no rows could be withheld"
        info = json.loads((self.labels(name) / INFO).read_text(encoding="utf-8"))
        return f"{where} {info['train_rows']:,} of {info['of_rows']:,} training rows"

    async def _begin(self) -> None:
        """Build the first view; what stops that is the reason for scores that scripts print."""
        try:
            self._views[_FIRST] = await self._built(ViewName.parse(_FIRST))
            self.self_reported = reason_in(self.labels(_FIRST))
            if self.self_reported is None:
                await self._check_scorable()
        except UnsupportedLayout as error:
            self._views[_FIRST] = await self._unsplit(str(error))
            self.self_reported = str(error)

    async def _check_scorable(self) -> None:
        """Check that the labels withheld can be scored at all; raises UnsupportedLayout where they cannot."""
        with self._stopwatch.measure("views"):
            await self._worker.call(
                "check_views_scorable",
                labels_dir=str(self.labels(_FIRST)),
                view_dir=str(self._views[_FIRST]),
                card=self._card.model_dump(mode="json"),
                grader=None if self._grader is None else str(self._grader),
            )

    async def _built(self, view: ViewName) -> Path:
        out = self._folder.views / view.folder
        if out.is_dir():  # built, and there only when complete, by an earlier start of the bot
            return out
        with self._stopwatch.measure("views"):
            await self._worker.call(
                "build_view",
                data_dir=str(self._data),
                card=self._card.model_dump(mode="json"),
                name=str(view),
                seed=self._seed,
                out_dir=str(out),
                labels_dir=str(self.labels(str(view))),
            )
        return out

    async def _unsplit(self, reason: str) -> Path:
        out = self._folder.views / _FIRST
        with self._stopwatch.measure("views"):
            await self._worker.call(
                "share_everything",
                data_dir=str(self._data),
                card=self._card.model_dump(mode="json"),
                reason=reason,
                out_dir=str(out),
                labels_dir=str(self.labels(_FIRST)),
            )
        return out
