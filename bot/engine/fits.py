"""Portfolio fits: models that the engine fits on a coder's features in the idle time of labs, each an experiment.

One execution fits one model, so that it counts at once, and a kill loses little. Each request has a folder of its own; the
experiments show what was fitted, so that a resumed run continues.
"""

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter

from bot.engine.experiment import PLAIN_NOTE, Experiment
from bot.engine.experiments import ROLES, ExperimentLog, LabPosition, Logged
from bot.engine.results import newest_blend, present_ensemble
from bot.evaluation.answers.experiments import FitRows
from bot.execution.record import GUARDED
from bot.portfolio.plan import CONFIGURATIONS, SCRIPT, PortfolioJob, is_logarithmic, next_models, portfolio_model
from sandbox import ExecutionOutcome, ExecutionRequest, Lease
from state.errors import BotError, InvalidSubmission
from state.labs import labs
from state.steps import Steps

_REQUEST = "request.json"
_SHARE, _MIN_SECONDS = 0.15, 60.0
"""Processor seconds of one model: maximum share of the run's time, and minimum."""
_PAUSE = 2.0
_MOST_FITS = 40
IMPORTANCES = "importances.json"
"""The file of a portfolio model with its feature importances, shares by name."""
PLAIN = "plain"
"""Name of the fit on features that the engine makes itself."""
# The script expects its folder to be its own; the sandbox has it read-only as data.
_HEAD = """import os as _os, shutil as _shutil
for _name in _os.listdir("data"):
    _os.symlink(f"data/{_name}", _name) if _name == "features" else _shutil.copy(f"data/{_name}", _name)
"""


class _SkippedModel(InvalidSubmission):
    """A model that the portfolio leaves out here, without a message."""


@dataclass(frozen=True)
class FitRequest:
    """One `lab fit`."""

    name: str
    note: str
    categories: tuple[int, ...]
    encode: tuple[int, ...]
    rows: FitRows
    position: LabPosition


_REQUEST_JSON = TypeAdapter(FitRequest)


@dataclass
class PortfolioFits:
    """The portfolio fits of one run."""

    log: ExperimentLog
    steps: Steps
    seconds: float
    say: Callable[[str], None]
    _given_up: set[str] = field(default_factory=set)
    """Models that could not be fitted in this start of the bot, by their experiments' names."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def folder(self) -> Path:
        """The parent of the requests' folders."""
        return self.log.executor.folder.path / "fits"

    async def add(
        self,
        name: str,
        files: Mapping[str, Path],
        position: LabPosition,
        note: str = "",
        categories: Sequence[str] = (),
        encode: Sequence[str] = (),
    ) -> str:
        """Accept features; return a sentence for their coder.

        Args:
            name: of the fit; its models are `NAME/...`.
            files: features by their rows (`train`, `validation`, `test`); moved away.
            categories: columns that hold categories, by number.
            encode: columns to replace by the target's mean, by number.

        Raises InvalidSubmission: the features cannot be used, or the portfolio does not learn such labels.
        """
        log, executor = self.log, self.log.executor
        folds = await executor.fold_view()
        if folds is None:
            raise InvalidSubmission("cannot fit a portfolio: this run has no folds")
        if missing := [role for role in ("train", "validation", "test") if role not in files]:
            raise InvalidSubmission(f"features for the {missing[0]} rows are missing")
        requests = self.requests()
        if len(requests) >= _MOST_FITS:
            raise InvalidSubmission(f"this run has reached its limit of {_MOST_FITS} fits")
        names, number, free_name = {request.name for request in requests}, 2, name
        while free_name in names or any(e.name == free_name for e in log.all()):
            free_name, number = f"{name}-{number}", number + 1
        try:
            columns = tuple(map(int, categories)), tuple(map(int, encode))
        except ValueError:
            raise InvalidSubmission(
                "columns must be given by number, counting from 0, unless the features are data frames"
            ) from None
        staging = self.folder / f".{free_name}"
        shutil.rmtree(staging, ignore_errors=True)
        (staging / "features").mkdir(parents=True)
        try:
            rows = await log.worker.write_fit_rows(await executor.view(GUARDED), folds, files, staging)
        except InvalidSubmission:
            shutil.rmtree(staging, ignore_errors=True)
            raise
        for role, path in files.items():
            target = staging / "features" / f"{role}.npz"
            shutil.move(path, target)
            target.chmod(0o644)
        request = FitRequest(free_name, note, *columns, rows, position)
        (staging / _REQUEST).write_text(json.dumps(asdict(request)), encoding="utf-8")
        staging.replace(self.folder / free_name)
        self._changed.set()
        return (
            f"{free_name}: {len(CONFIGURATIONS)} models will be fitted in idle time, the cheapest first; each becomes "
            f"the experiment {free_name}/MODEL, and `lab wait {free_name}` waits for them"
        )

    async def add_plain(self, script: str) -> None:
        """Accept the features that an engine script writes, as those of the first lab, once it is open.

        Raises InvalidSubmission: it wrote none that can be used.
        """
        log = self.log
        while not (open_labs := labs(log.store, log.run_id)):
            await asyncio.sleep(_PAUSE)
        if any(request.name == PLAIN for request in self.requests()):
            return
        lab, data = open_labs[0], (await log.executor.view(GUARDED)).data
        draft = None if lab.draft_id is None else int(lab.draft_id)
        position = LabPosition(lab.id, draft, tuple(lab.parents), "The engine's own features", lab.turns)
        async with (
            log.executor.leasing.hold_idle() as lease,
            self._executed("plain-features", script, data, "features", self._most_seconds, lease) as (folder, outcome),
        ):
            files = {path.stem: path for path in folder.glob("*.npz")}
            if not files:
                raise InvalidSubmission(f"no features were written: {_last_line(outcome.output)}")
            await self.add(PLAIN, files, position, note=PLAIN_NOTE)

    def withdraw(self, name: str) -> bool:
        """Fit no more models on these features; return whether this name was requested."""
        is_requested = any(request.name == name for request in self.requests())
        if is_requested:
            shutil.rmtree(self.folder / f".withdrawn-{name}", ignore_errors=True)
            (self.folder / name).rename(self.folder / f".withdrawn-{name}")
        return is_requested

    def requests(self) -> list[FitRequest]:
        """Return all requests, the oldest first."""
        files = sorted(self.folder.glob(f"[!.]*/{_REQUEST}"), key=lambda path: path.stat().st_mtime_ns)
        return [_REQUEST_JSON.validate_json(path.read_bytes()) for path in files]

    async def keep_fitting(self) -> None:
        """Fit one model after the other, of the newest request first, until cancelled."""
        while True:
            self._changed.clear()
            if (due := self._due()) is None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), _PAUSE)
                continue
            request, model = due
            try:
                await self._fit(request, model)
            except (BotError, OSError) as error:
                self._given_up.add(f"{request.name}/{model}")
                if not isinstance(error, _SkippedModel):
                    self.say(f"{request.name}/{model} could not be fitted: {error}")

    async def wait(self, name: str, seconds: float) -> None:
        """Wait until all configurations of a fit (empty: of all fits) are fitted, at most so many seconds."""
        async with asyncio.timeout(seconds):
            while any(
                set(CONFIGURATIONS) - self._fitted(request) for request in self.requests() if name in ("", request.name)
            ):
                await asyncio.sleep(0.5)

    def _fitted(self, request: FitRequest) -> set[str]:
        head = f"{request.name}/"
        names = {*self._given_up, *(e.name for e in self.log.all())}
        return {name.removeprefix(head) for name in names if name.startswith(head)}

    def _due(self) -> tuple[FitRequest, str] | None:
        """Return the model to fit next: the cheap ones of all requests before the expensive ones, then seeds of members."""
        log = self.log
        blend, names = newest_blend(log.store, log.run_id), {e.node: e.name for e in log.all()}
        order, choices = list(CONFIGURATIONS), list[tuple[int, int, FitRequest, str]]()
        for age, request in enumerate(reversed(self.requests())):
            head, weights = f"{request.name}/", dict[str, float]()
            for node, weight in {} if blend is None else blend.weights.items():
                if (name := names.get(node, "")).startswith(head):
                    weights[name.removeprefix(head)] = weight
            if upcoming := next_models(self._fitted(request), weights):
                place = order.index(upcoming[0]) if upcoming[0] in order else len(order)
                choices.append((place, age, request, upcoming[0]))
        return min(choices, key=lambda choice: choice[:2])[2:] if choices else None

    async def _fit(self, request: FitRequest, model: str) -> None:
        log = self.log
        name = f"fit-{request.name}-{model}"
        async with self._fitted_model(request, model, self.folder / request.name, name) as arrays:
            if not (self.folder / request.name).exists():
                raise _SkippedModel(f"{request.name} has been withdrawn")
            meta = json.loads((arrays / "meta.json").read_text(encoding="utf-8"))
            logged = Logged(
                f"{request.name}/{model}",
                {role: arrays / f"{role}.npy" for role in ROLES},
                note=request.note,
                sources={IMPORTANCES: json.dumps(shares)} if (shares := meta.get("importances")) else {},
                seconds=meta.get("cpu_seconds"),
                kind="portfolio",
                families=(model.partition("-")[0],),
            )
            await log.log(logged, request.position, present_ensemble(self.steps, log.withdrawn()))

    async def fit_on_all_rows(self, experiment: Experiment, folder: Path) -> Path:
        """Fit a model of the portfolio again, on all labelled rows; return its test predictions, an array in `folder`.

        Raises InvalidSubmission: it could not be fitted.
        """
        log, executor = self.log, self.log.executor
        name, _, model = experiment.name.partition("/")
        request = next((r for r in self.requests() if r.name == name), None)
        if request is None:
            raise InvalidSubmission("its features no longer exist")
        job = folder / "job"
        job.mkdir()
        features = {role: self.folder / name / "features" / f"{role}.npz" for role in ("train", "validation", "test")}
        view, sealed = await executor.view(GUARDED), await executor.view("sealed")
        folds = replace(sealed, data=await executor.views.folds_of("sealed"))
        rows = await log.worker.write_all_fit_rows(view, folds, sealed, features, job)
        async with self._fitted_model(replace(request, rows=rows), model, job, f"refit-{name}-{model}") as arrays:
            (arrays / "test.npy").replace(folder / "test.npy")
        return folder / "test.npy"

    @asynccontextmanager
    async def _fitted_model(self, request: FitRequest, model: str, folder: Path, name: str) -> AsyncIterator[Path]:
        """Fit one model on the features in a folder; yield the folder of its arrays, which is temporary."""
        log, executor, seconds = self.log, self.log.executor, self._most_seconds
        metric, kind = log.card.metric.name, request.rows.kind
        async with executor.leasing.hold_idle() as lease:
            job = PortfolioJob(
                kind=kind,
                classes=request.rows.classes,
                logarithmic=is_logarithmic(metric, kind),
                categories=request.categories,
                encode=request.encode,
                fold_kind=request.rows.fold_kind,
                seed=log.seed,
                models=(portfolio_model(model, metric, kind),),
                cpu_seconds=seconds,
                cpus=max(1, len(lease.cpus) or executor.settings.cpus),
            )
            (folder / "job.json").write_text(job.model_dump_json(), encoding="utf-8")
            script = _HEAD + SCRIPT.read_text(encoding="utf-8")
            async with self._executed(name, script, folder, "out", 2 * seconds, lease) as (out, outcome):
                arrays, meta = out / model, out / model / "meta.json"
                if not all((arrays / f"{role}.npy").is_file() for role in ROLES):
                    facts = json.loads(meta.read_text(encoding="utf-8")) if meta.is_file() else {}
                    if skipped := facts.get("skipped"):
                        raise _SkippedModel(skipped)
                    end = f"its execution ended ({outcome.reason}): {_last_line(outcome.output)}"
                    raise InvalidSubmission(_last_line(facts.get("failed") or end))
                yield arrays

    @property
    def _most_seconds(self) -> float:
        """Maximum processor seconds of one model, or of making features."""
        return max(_MIN_SECONDS, _SHARE * self.seconds)

    @asynccontextmanager
    async def _executed(
        self, name: str, script: str, data: Path, kept_folder: str, seconds: float, lease: Lease
    ) -> AsyncIterator[tuple[Path, ExecutionOutcome]]:
        """Run a script in idle time, with so many processor seconds; yield a folder that it left, which is temporary."""
        executor = self.log.executor
        out = executor.folder.executions / name
        shutil.rmtree(out, ignore_errors=True)
        request = ExecutionRequest(
            name,
            script,
            data,
            out,
            executor.idle_limits(seconds),
            keep=(),
            keep_folders=(kept_folder,),
            redactor=self.log.store.redactor,
            idle=True,
        )
        try:
            yield out / kept_folder, await executor.run_idle(request, lease)
        finally:
            shutil.rmtree(out, ignore_errors=True)


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][:200]
