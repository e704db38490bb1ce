"""The built-in model's pair of scripts for notebooks: what the second predicts of unseen rows is what the first would have."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bot.agents.builtin.config import RecipeConfig, infer_script, script
from tests.bot.agents.builtin.running import run_script
from tests.bot.agents.builtin.test_recipe import lay_out, leaves, log_loss

USE = (
    *("linear model", "naive bayes", "random forest", "boosting", "LDA", "nearest neighbours", "SVM", "blend"),
    *("power calibration", "geometric mean", "logarithms", "square roots", "ratios", "unit length"),
    *("principal components", "character n-grams", "few folds"),
)
CONFIG = RecipeConfig(metric="log_loss", id="id", use=USE, part="train")


def predicted(folder: Path, sample: pd.DataFrame, test: pd.DataFrame, config: RecipeConfig) -> pd.DataFrame:
    """What the second script predicts of these rows, with what the first has left in a folder."""
    place = folder / "kaggle"
    (place / "data").mkdir(parents=True)
    shutil.copy(folder / "data" / "train.csv", place / "data")
    test.to_csv(place / "data" / "test.csv", index=False)
    sample.to_csv(place / "data" / "sample_submission.csv", index=False)
    shutil.copytree(folder / "weights", place / "weights")
    infer = infer_script(config)
    assert infer is not None
    print(run_script(place, infer, 60))
    return pd.read_csv(place / "submission.csv")


@pytest.mark.integration
def test_what_it_saves_predicts_other_rows_as_the_training_run_does(tmp_path: Path) -> None:
    truth = lay_out(tmp_path, leaves(), "id", ["kind"], {"a": 0.3, "b": 0.3, "c": 0.4})
    print(run_script(tmp_path, script(CONFIG), 60))
    told = pd.read_csv(tmp_path / "validation_predictions.csv")
    order = np.random.default_rng(1).permutation(len(told))[:-7]
    valid = pd.read_csv(tmp_path / "data" / "validation.csv")
    sample = pd.read_csv(tmp_path / "data" / "sample_validation.csv")
    answer = predicted(tmp_path, sample.iloc[order], valid.iloc[order], CONFIG)
    assert answer["id"].tolist() == sample.iloc[order]["id"].tolist()
    assert np.allclose(answer[["a", "b", "c"]], told.iloc[order][["a", "b", "c"]], atol=1e-6)
    assert log_loss(truth["kind"], told) < 0.6
