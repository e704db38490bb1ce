"""Portfolio fits that a lab asks for: models in idle time, each an experiment, gone on with after a restart."""

import asyncio
import csv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bot.agents.builtin.config import RecipeConfig, features_script
from bot.coder.lab.calls import Fit, LabAnswer, LabCall, Wait, Withdraw
from bot.coder.lab.commands import Commands
from bot.engine.context import RunContext
from bot.engine.experiment import PLAIN_NOTE
from bot.engine.fits import PLAIN, PortfolioFits
from bot.engine.search import SolutionSearch
from bot.engine.strategy import Script
from bot.portfolio.plan import CONFIGURATIONS
from sandbox import ExecutionRequest
from state.errors import InvalidSubmission
from tests.bot.coder.lab.experimenting import experiments, lab, log, predictions, two_labs
from tests.bot.engine.parts import opened

pytestmark = pytest.mark.integration

FEW = ("linear", "neighbours")
"""Models of the portfolio that need scikit-learn alone."""


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let these be the portfolio, and fit them at once, though others keep the machine busy."""
    kept = {name: CONFIGURATIONS[name] for name in FEW}
    monkeypatch.setattr("bot.engine.fits.CONFIGURATIONS", kept)
    at_once: Any = lambda *given, **named: ExecutionRequest(*given, **{**named, "idle": False})  # noqa: E731
    monkeypatch.setattr("bot.engine.fits.ExecutionRequest", at_once)
    monkeypatch.setattr("bot.engine.fits.next_models", lambda done, _: [name for name in kept if name not in done])


async def fit(commands: Commands, name: str, rows_left_out: int = 0) -> LabAnswer:
    """Ask for a fit on two features, of which the first is what the labels depend on."""
    sent, files = commands.context.executor.folder.path / "features", {}
    sent.mkdir(exist_ok=True)
    made = await predictions(commands.context, 1.0)
    for role, values in zip(("train", "validation", "test"), made.values(), strict=True):
        x = np.stack([np.log(values / (1 - values)), np.arange(len(values)) % 7], axis=1)
        np.savez(sent / f"{role}.npz", x=x[rows_left_out:])
        files[role] = sent / f"{role}.npz"
    return await commands(LabCall(Fit(name, note="two features"), files=files))  # type: ignore[arg-type] # roles


def fits(context: RunContext) -> PortfolioFits:
    """Return the run's fits."""
    assert context.fits is not None
    return context.fits


async def test_each_model_of_a_fit_becomes_an_experiment_and_a_restart_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        await log(two, "mine", 0.1)
        assert (await two(LabCall(Wait("none")))).text == "no fit has this name"
        answer, again = await fit(two, "basic"), await fit(two, "basic")
        assert answer.status == again.status == 0, (answer.text, again.text)
        assert "basic/MODEL" in answer.text and "basic-2/MODEL" in again.text
        working = asyncio.create_task(fits(context).keep_fitting())
        async with asyncio.timeout(200):
            while len(experiments(context).all()) < 2:
                await asyncio.sleep(0.2)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        before = [one.name for one in experiments(context).all()]
    async with opened(tmp_path, 5, labs=True) as context:
        two = lab(context, 2)
        working = asyncio.create_task(fits(context).keep_fitting())
        await fits(context).wait("", 300)
        waited = await two(LabCall(Wait("")))
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        kept = {one.name: one for one in experiments(context).all()}
        names = {f"{request}/{name}" for request in ("basic", "basic-2") for name in FEW}
        assert {name for name in kept if "/" in name} == names
        assert list(kept)[: len(before)] == before, "nothing is fitted twice"
        linear = kept["basic/linear"]
        assert (linear.kind, linear.lab, linear.note, linear.complete) == ("portfolio", 2, "two features", True)
        assert linear.result.score < kept["mine"].result.score, "it has learned what the labels depend on"
        assert (experiments(context).folder / linear.name / "oof.npy").is_file()
        assert {line.partition(" ")[0] for line in waited.text.splitlines()} == names
        (place := tmp_path / "all").mkdir()
        again = np.load(await fits(context).fit_on_all_rows(linear, place))
        logged = np.load(experiments(context).folder / linear.name / "test.npy")
        assert again.shape == logged.shape and 0 < np.abs(again - logged).max() < 0.1
        everything = await context.executor.view("sealed")
        table = csv.DictReader((everything.data / "train.csv").read_text(encoding="utf-8").splitlines())
        labels = [float(row["label"]) for row in table]
        assert np.load(place / "job/target.npy").tolist() == labels, "those of validation rows in their places"
        fewer, more = (np.load(path)["x"] for path in _features(context, place))
        assert len(more) == len(labels) > len(fewer) and {*map(tuple, fewer)} < {*map(tuple, more)}
        assert (await log(two, "stack", 0.5, uses=(linear.name,))).status == 0


def _features(context: RunContext, place: Path) -> tuple[Path, Path]:
    return fits(context).folder / "basic/features/train.npz", place / "job/features/train.npz"


async def test_a_fit_that_is_withdrawn_is_fitted_no_further_and_none_of_its_models_is_chosen(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        await fit(two, "late")
        working = asyncio.create_task(fits(context).keep_fitting())
        async with asyncio.timeout(200):
            while not experiments(context).all():
                await asyncio.sleep(0.1)
        answer = await two(LabCall(Withdraw("late", "it learns from later rows")))
        await asyncio.sleep(1.0)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        assert answer.status == 0 and fits(context).requests() == []
        assert len(experiments(context).all()) == 1 and all(one.withdrawn for one in experiments(context).all())
        assert (await fit(two, "late")).status == 0, "better features may have its name"


async def test_features_that_do_not_fit_the_rows_are_refused_or_told_and_hold_up_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        said: list[str] = []
        fits(context).say = said.append
        short, missing = await fit(two, "short", rows_left_out=3), await two(LabCall(Fit("none")))
        assert missing.status == 1 and "features for the train rows are missing" in missing.text
        good = await fit(two, "good")
        assert good.status == 0
        working = asyncio.create_task(fits(context).keep_fitting())
        await fits(context).wait("", 300)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        made = {one.name.partition("/")[0] for one in experiments(context).all()}
        assert made == {"good"}
        assert short.status == 1 and not said


async def test_models_are_fitted_on_features_of_the_engines_own_once_a_lab_is_open(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        script = features_script(RecipeConfig(metric=context.card.metric.name, id=context.card.id_column, use=()))
        waiting = asyncio.create_task(fits(context).add_plain(script))
        await asyncio.sleep(0.1)
        assert not waiting.done() and not fits(context).requests(), "no lab is open"
        await two_labs(context)
        await waiting
        await fits(context).add_plain(script)
        (request,) = fits(context).requests()
        assert (request.name, request.position.lab) == (PLAIN, 2)
        working = asyncio.create_task(fits(context).keep_fitting())
        await fits(context).wait("", 300)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
        made = {one.name: one.result.score for one in experiments(context).all()}
        assert made.keys() == {f"{PLAIN}/{name}" for name in FEW} and experiments(context).all()[0].note == PLAIN_NOTE
        assert made[f"{PLAIN}/linear"] < 0.6, "rows and labels belong together"


@pytest.mark.parametrize(
    ("seconds", "error", "said"), [(899, None, 0), (900, None, 0), (900, InvalidSubmission("no"), 1)]
)
async def test_a_run_that_has_the_time_fits_them_and_goes_on_without_where_there_are_none(
    seconds: float, error: Exception | None, said: int
) -> None:
    lines: list[str] = []
    did: list[str] = []

    async def add_plain(script: str) -> None:
        did.append(script)
        if error is not None:
            raise error

    async def keep_fitting() -> None:
        did.append("fitting")

    context = SimpleNamespace(
        baseline=lambda task, preview: Script("", "", "draft", features="script"),
        task=None,
        preview="",
        needs_scripts=False,
        budget=SimpleNamespace(seconds=seconds),
        say=lines.append,
    )
    search: Any = SimpleNamespace(_context=context)
    await SolutionSearch._fit_portfolio(search, SimpleNamespace(add_plain=add_plain, keep_fitting=keep_fitting))  # type: ignore[arg-type]
    assert (did, len(lines)) == (["fitting"] if seconds < 900 else ["script", "fitting"], said)
