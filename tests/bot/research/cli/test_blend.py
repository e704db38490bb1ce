"""`bot blend`: several stored runs of one competition become one run, and what cannot be blended is refused with the reason."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from bot.engine.experiment import Experiment, all_experiments
from bot.execution.folder import RunFolder
from state.clock import SystemClock
from state.errors import UsageError
from state.store import Store
from tests import needs
from tests.bot.replay.conftest import Bot, begin_quickly, bot, draw_no_page, results, tiny
from tests.bot.replay.scripted_answers import Answers, LabAnswers
from tests.made_once import made_once
from tests.scripted_endpoint import ScriptedEndpoint
from tests.tiny_snapshot import write_tiny

__all__ = ["bot", "tiny"]

pytestmark = pytest.mark.integration


@pytest.fixture
def runs(tmp_path_factory: pytest.TempPathFactory, bot: Bot) -> Path:
    """Return a folder with AIDE's runs of two seeds, and in `other` one that has other validation rows."""

    def make(place: Path) -> None:
        snapshot = write_tiny(place / "tiny-table")
        with pytest.MonkeyPatch.context() as patch, ScriptedEndpoint(Answers()) as endpoint:
            draw_no_page(patch)
            begin_quickly(patch)
            patch.setenv("OPENAI_BASE_URL", endpoint.url)
            common = ("--agent", "aide", "--model", "openai:scripted", "--sandbox", "process", "--out")
            for more in (
                (place / "runs", "--seeds", 2, "--steps", 3),
                (place / "other", "--split-seed", 7, "--steps", 1),
            ):
                done = bot("replay", snapshot, *common, *more)
                assert done.exit_code == 0, done.output

    return made_once(tmp_path_factory, "aide-to-blend", make)


def test_runs_of_two_seeds_are_blended_into_a_run_like_any_other(runs: Path, bot: Bot, tmp_path: Path):
    done = bot("blend", runs / "runs", "--out", tmp_path / "out", "--json")
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    folder = RunFolder(Path(result["run"]))
    assert (result["agent"], result["model"], result["status"]) == ("blend", "openai:scripted", "finished")
    assert result["valid_submission"] and result["validation_score"] is not None and result["final_score"] is not None
    # Both runs' scored scripts, and nothing that was run or asked here.
    stored = [json.loads((run / "result.json").read_text()) for run in sorted((runs / "runs").iterdir())]
    assert len(result["hidden_scores"]) >= sum(one["valid_nodes"] for one in stored)
    assert result["llm"]["calls"] == 0 and result["prediction_source"] == "holdout"
    graded = json.loads(bot("grade", runs / "tiny-table", folder.submission, "--json").stdout)
    assert graded["score"] == pytest.approx(result["score"])
    page = folder.report.read_text()
    assert "aide with seed 0" in page and "aide with seed 1" in page
    (status,) = results(bot("status", folder.path, "--json"))
    assert status["status"] == "finished"
    assert bot("resume", folder.path, "--json").exit_code == 0
    # No prompt is its own: an audit would prove nothing.
    refused = bot("audit", folder.path, catch=True).exception
    assert isinstance(refused, UsageError) and all(run.name in str(refused) for run in (runs / "runs").iterdir())


def test_adopted_scripts_keep_their_scores_and_predictions(runs: Path, bot: Bot, tmp_path: Path):
    (result,) = results(bot("blend", runs / "runs", "--out", tmp_path / "out", "--json"))
    kept = {file.name: np.load(file) for file in RunFolder(Path(result["run"])).bank.glob("*.npy")}
    theirs = {file.name: np.load(file) for run in (runs / "runs").iterdir() for file in (run / "bank").glob("*.npy")}
    assert theirs.keys() <= kept.keys()
    assert all(np.array_equal(kept[name], values) for name, values in theirs.items())
    best = min(one["validation_score"] for one in (json.loads(p.read_text()) for p in runs.glob("runs/*/result.json")))
    assert result["best_over_time"][-1][1] <= best


def test_what_cannot_be_blended_is_refused_and_leaves_no_folder(runs: Path, bot: Bot, tmp_path: Path):
    def refused(*paths: Path) -> str:
        error = bot("blend", *paths, "--out", tmp_path / "out", catch=True).exception
        assert isinstance(error, UsageError) and not list((tmp_path / "out").glob("*"))
        return str(error)

    assert "has other validation rows" in refused(runs / "runs", runs / "other")
    one = shutil.copytree(next((runs / "runs").iterdir()), tmp_path / "copied" / "one")
    (one / "result.json").unlink()
    assert "has not finished" in refused(one)
    assert "no runs" in refused(tmp_path)
    labels = one / "evaluator" / "holdout" / "labels.csv"
    shutil.copyfile(next((runs / "runs").iterdir()) / "result.json", one / "result.json")
    labels.write_text(labels.read_text().replace(",1\n", ",0\n", 1))
    assert "another version of the bot" in refused(one)


def test_experiments_of_labs_are_blended_by_their_arrays_out_of_fold(bot, tmp_path, tiny, monkeypatch) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    with ScriptedEndpoint(LabAnswers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--model", "openai:scripted", "--sandbox", "bubblewrap", "--steps", 4, "--out", tmp_path / "runs")
        done = bot("replay", tiny, *options)
    assert done.exit_code == 0, done.output
    (result,) = results(bot("blend", tmp_path / "runs", "--out", tmp_path / "out", "--json"))
    assert result["valid_submission"] and result["final_score"] is not None
    (run,) = (tmp_path / "runs").iterdir()
    logged, adopted = (
        {one.result.arrays.oof: one.result.score for one in experiments_of(folder)}
        for folder in (run, Path(result["run"]))
    )
    assert len(logged.keys() - {None}) >= 3
    assert logged.items() <= adopted.items()
    assert all((Path(result["run"]) / "bank" / name).exists() for name in logged if name)


def experiments_of(folder: Path) -> list[Experiment]:
    """Return the experiments of a run."""
    with Store.open(RunFolder(folder).database, SystemClock()) as store:
        return [one for one in all_experiments(store, folder.name) if one.kind == "model"]
