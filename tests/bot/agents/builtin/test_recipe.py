"""The recipe on small data of each kind: always two valid files, and predictions that beat a guess."""

import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from bot.agents.builtin import baseline_script
from bot.agents.builtin.config import FEW_FOLDS, plain_config, script
from bot.agents.builtin.techniques import vocabulary
from bot.execution.task import TaskText
from tests.bot.agents.builtin.running import run_script

RNG_SEED = 5
TASK = TaskText("T", "D", "log_loss", "minimize", "id", ("a", "b", "c"), "submission.csv")


@dataclass(frozen=True)
class Result:
    """What a script wrote and printed."""

    submission: pd.DataFrame
    validation: pd.DataFrame
    output: str


def lay_out(
    folder: Path, rows: pd.DataFrame, id: str, hidden: Sequence[str], columns: Mapping[str, Any], with_test: bool = True
) -> pd.DataFrame:
    """Write `data/`: half of the rows to train on, a quarter each as validation and test; returns the validation's truth."""
    data = folder / "data"
    data.mkdir()
    n = len(rows)
    train, valid, test = rows[: n // 2], rows[n // 2 : 3 * n // 4], rows[3 * n // 4 :]
    known = [id] if not with_test else [c for c in rows if c not in hidden]
    train.to_csv(data / "train.csv", index=False)
    valid[known].to_csv(data / "validation.csv", index=False)
    if with_test:
        test[known].to_csv(data / "test.csv", index=False)
    # The sample has an order of its own.
    test[[id]].iloc[::-1].assign(**columns).to_csv(data / "sample_submission.csv", index=False)
    valid[[id]].assign(**columns).to_csv(data / "sample_validation.csv", index=False)
    return valid.reset_index(drop=True)


def run(folder: Path, code: str, seconds: float = 60) -> Result:
    """Run a script in its folder and check the two files' rows and columns."""
    printed = run_script(folder, code, seconds)
    files = []
    for name, sample in (("submission", "sample_submission"), ("validation_predictions", "sample_validation")):
        answer, wanted = pd.read_csv(folder / f"{name}.csv"), pd.read_csv(folder / "data" / f"{sample}.csv")
        assert list(answer.columns) == list(wanted.columns)
        assert answer.iloc[:, 0].tolist() == wanted.iloc[:, 0].tolist()
        assert answer.notna().to_numpy().all() or not wanted.notna().to_numpy().all()
        files.append(answer)
    return Result(files[0], files[1], printed)


def leaves(n: int = 360) -> pd.DataFrame:
    """Three species told apart by some columns; one column is words, and train and test ids overlap."""
    rng = np.random.default_rng(RNG_SEED)
    kinds = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 3)) + np.column_stack([kinds * 2, kinds == 1, np.zeros(n)])
    place = np.where(rng.random(n) < 0.1, None, np.array(["wood", "field", "road"])[rng.integers(0, 3, n)])
    # Skewed columns and eight of one group: no single model has it all.
    edge = {f"edge{i}": rng.poisson(3 + 2 * (kinds == i % 3)) for i in range(8)}
    named = {"place": place, "kind": np.array(list("abc"))[kinds]}
    table = {"w1": np.exp(x[:, 0] / 2), "w2": np.exp(x[:, 1]), "h": np.abs(x[:, 2]), **edge, **named}
    return pd.DataFrame({"id": np.arange(n) % (3 * n // 4), **table})


def log_loss(truth: pd.Series, told: pd.DataFrame) -> float:
    p = told[["a", "b", "c"]].to_numpy()
    p = p / p.sum(axis=1, keepdims=True)
    return float(-np.log(p[np.arange(len(p)), truth.map({"a": 0, "b": 1, "c": 2})]).mean())


@pytest.mark.integration
def test_the_baseline_predicts_classes_from_a_table(tmp_path: Path) -> None:
    valid = lay_out(tmp_path, leaves(), "id", ["kind"], {"a": 0.2, "b": 0.4, "c": 0.4})
    told = run(tmp_path, baseline_script(TASK, "").code)
    assert log_loss(valid["kind"], told.validation) < 0.7
    assert "linear model C=1 on table" in told.output
    (line,) = re.findall(r"^feature importances: (.*)$", told.output, re.MULTILINE)
    shares = json.loads(line)
    assert sum(shares.values()) == pytest.approx(1, abs=0.01) and next(iter(shares)) in ("w1", "w2")


@pytest.mark.integration
def test_every_table_switch_at_once_gives_a_blend_and_a_table_of_experiments(tmp_path: Path) -> None:
    valid = lay_out(tmp_path, leaves(), "id", ["kind"], {"a": 0.2, "b": 0.4, "c": 0.4})
    slow = {"more trees", "ratios"}
    titles = [t.title for t in vocabulary().values() if "table" in t.kinds and t.title not in slow]
    told = run(tmp_path, script(plain_config(TASK).using((*titles, FEW_FOLDS))))
    assert log_loss(valid["kind"], told.validation) < 0.7
    assert all(t in told.output for t in titles if vocabulary()[t].family)
    assert "blend: " in told.output
    assert "linear model C=0.1 on square roots" in told.output


@pytest.mark.parametrize("metric", ["accuracy", pytest.param("grade.py", marks=pytest.mark.integration)])
def test_labels_are_written_where_the_metric_or_else_the_sample_wants_labels(tmp_path: Path, metric: str) -> None:
    valid = lay_out(tmp_path, leaves(), "id", ["kind"], {"kind": "a"})
    told = run(tmp_path, baseline_script(one_column(metric, "kind"), "").code)
    assert (told.validation["kind"] == valid["kind"]).mean() > 0.7


@pytest.mark.integration
def test_a_column_is_read_as_in_training_whatever_other_rows_hold(tmp_path: Path) -> None:
    rng = np.random.default_rng(RNG_SEED)
    rooms, kind = rng.integers(1, 4, 400), rng.integers(0, 3, 400)
    # Text in training alone, as one row is odd; numbers in training alone, as one row of the test is.
    texts = np.where(np.arange(400) == 3, "unknown", rooms.astype(str))
    numbers = np.where(np.arange(400) == 250, "none", kind.astype(str))
    label = np.array(list("abc"))[(rooms + kind) % 3]
    rows = pd.DataFrame({"id": np.arange(400), "rooms": texts, "of": numbers, "kind": label})
    valid = lay_out(tmp_path, rows, "id", ["kind"], {"a": 0.3, "b": 0.3, "c": 0.4})
    told = run(tmp_path, script(plain_config(TASK).using(("random forest", FEW_FOLDS))))
    assert (told.validation[["a", "b", "c"]].idxmax(axis=1) == valid["kind"]).mean() > 0.95


def hours(n: int = 1200) -> pd.DataFrame:
    """A count by hour whose two parts only train has."""
    rng = np.random.default_rng(RNG_SEED)
    when = pd.Series(pd.date_range("2020-01-01", periods=n, freq="2h"))
    early = np.exp(3 + np.cos(when.dt.hour / 24 * 6.28)) * rng.uniform(0.8, 1.2, n)
    late = np.exp(2 - np.cos(when.dt.hour / 24 * 6.28)) * rng.uniform(0.8, 1.2, n)
    parts = {"early": early.round(), "late": late.round()}
    table = {"when": when.astype(str), "heat": rng.normal(size=n), **parts}
    return pd.DataFrame(table).assign(total=lambda d: d["early"] + d["late"])


@pytest.mark.integration
def test_numbers_in_time_are_predicted_from_the_calendar_and_their_parts(tmp_path: Path) -> None:
    valid = lay_out(tmp_path, hours(), "when", ["total", "early", "late"], {"total": 0})
    task = TaskText("T", "D", "rmsle", "minimize", "when", ("total",), "submission.csv")
    use = ("random forest", "boosting", "parts of the target", "blend", "without year", FEW_FOLDS)
    told = run(tmp_path, script(plain_config(task).using(use)))
    error = np.log1p(told.validation["total"]) - np.log1p(valid["total"])
    assert np.sqrt((error**2).mean()) < 0.2
    assert (told.submission["total"] >= 0).all()


@pytest.mark.integration
def test_rows_of_days_that_training_has_are_predicted_by_their_day(tmp_path: Path) -> None:
    rng = np.random.default_rng(RNG_SEED)
    hour = rng.permutation(24 * 60)
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(hour, "h")
    level = rng.normal(size=60)[hour // 24] * 5
    rows = pd.DataFrame({"id": np.arange(len(hour)), "when": when.astype(str), "y": level + rng.normal(size=len(hour))})
    valid = lay_out(tmp_path, rows, "id", ["y"], {"y": 0})
    told = run(tmp_path, script(plain_config(one_column("rmse", "y", "minimize")).using(("random forest", FEW_FOLDS))))
    assert np.sqrt(((told.validation["y"] - valid["y"]) ** 2).mean()) < 2
    # Folds of whole weeks would promise an error of about 5.
    (promised,) = re.findall(r"^cross-validated rmse: (.*)$", told.output, re.MULTILINE)
    assert float(promised) < 2


@pytest.mark.integration
def test_boosting_learns_from_all_of_many_rows(tmp_path: Path) -> None:
    rng = np.random.default_rng(RNG_SEED)
    x = rng.integers(0, 250, 70_000)
    rows = pd.DataFrame({"id": np.arange(len(x)), "x": x, "y": rng.normal(size=250)[x] + rng.normal(size=len(x)) / 5})
    valid = lay_out(tmp_path, rows, "id", ["y"], {"y": 0})
    told = run(tmp_path, script(plain_config(one_column("rmse", "y", "minimize")).using(("nearest neighbours",))), 30)
    assert "blend: " in told.output and "boosting on table" in told.output
    assert np.sqrt(((told.validation["y"] - valid["y"]) ** 2).mean()) < 0.25


@pytest.mark.integration
def test_texts_are_told_apart_by_words_and_characters(tmp_path: Path) -> None:
    rng = np.random.default_rng(RNG_SEED)
    words = {
        "a": ["Sea", "ship", "wave;", "storm"],
        "b": ["tomb", "ghost", "crypt!", "bone"],
        "c": ["x", "y", "z", "w"],
    }
    kinds = rng.choice(list("abc"), 240)
    texts = [" ".join([*rng.choice(words[k], 4), *rng.choice(["the", "and", "of"], 4)]) for k in kinds]
    rows = pd.DataFrame({"id": [f"t{i}" for i in range(240)], "text": texts, "author": kinds})
    valid = lay_out(tmp_path, rows, "id", ["author"], {"a": 0.3, "b": 0.3, "c": 0.4})
    titles = [t.title for t in vocabulary().values() if "text" in t.kinds]
    told = run(tmp_path, script(plain_config(TASK).using((*titles, FEW_FOLDS))))
    assert log_loss(valid["author"], told.validation) < 0.3
    assert "naive bayes alpha=0.1 on characters" in told.output


@pytest.mark.integration
def test_images_of_an_archive_are_scored_without_a_test_table(tmp_path: Path) -> None:
    rng = np.random.default_rng(RNG_SEED)
    labels = rng.integers(0, 2, 160)
    rows = pd.DataFrame({"id": [f"{i}.png" for i in range(160)], "has": labels})
    valid = lay_out(tmp_path, rows, "id", ["has"], {"has": 0.5}, with_test=False)
    for archive, numbers in (("train.zip", range(120)), ("test.zip", range(120, 160))):
        with zipfile.ZipFile(tmp_path / "data" / archive, "w") as file:
            for i in numbers:
                picture = rng.integers(0, 60 + 120 * labels[i], (12, 12, 3), dtype=np.uint8)
                with file.open(f"images/{i}.png", "w") as out:
                    Image.fromarray(picture).save(out, "PNG")
    task = TaskText("T", "D", "roc_auc", "maximize", "id", ("has",), "submission.csv")
    titles = [t.title for t in vocabulary().values() if t.kinds == {"image"}]
    told = run(tmp_path, script(plain_config(task).using((*titles, "linear model", "extra trees", "blend", FEW_FOLDS))))
    right = told.validation["has"].rank() > len(valid) - valid["has"].sum()
    assert (right == (valid["has"] == 1)).mean() > 0.95
    assert "views: images" in told.output


@pytest.mark.integration
def test_slow_experiments_have_fewer_folds_or_are_given_up_and_the_others_are_handed_in(tmp_path: Path) -> None:
    valid = lay_out(tmp_path, leaves(), "id", ["kind"], {"a": 0.2, "b": 0.4, "c": 0.4})
    config = plain_config(TASK).model_copy(update={"use": ("extra trees", "boosting", "blend")})
    fit = "def fit_predict(model, x, y, rows, k, kept):\n"
    code = script(config)
    assert fit in code
    slow = "    time.sleep(4)\n    if 'ExtraTrees' in str(model):\n        y = np.roll(y, 1)\n        time.sleep(3)\n"
    told = run(tmp_path, code.replace(fit, fit + slow), 30)
    assert re.search(r"only [1-5] of 6 folds finished in time\nboosting on table +\d", told.output)
    assert re.search(r"extra trees on table +(left out|given up)", told.output), "it was worse on its folds"
    assert "blend: " in told.output
    assert log_loss(valid["kind"], told.validation) < 0.7


def test_a_script_that_ends_no_experiment_in_time_hands_in_the_shares_of_the_classes(tmp_path: Path) -> None:
    lay_out(tmp_path, leaves(), "id", ["kind"], {"a": 0.2, "b": 0.4, "c": 0.4})
    told = run(tmp_path, script(plain_config(TASK)), 0.1)
    shares = pd.read_csv(tmp_path / "data" / "train.csv")["kind"].value_counts(normalize=True)
    assert all(np.allclose(told.validation[kind], shares[kind]) for kind in "abc")
    assert "time limit" in told.output


@pytest.mark.integration
def test_without_a_target_in_train_the_sample_is_handed_in(tmp_path: Path) -> None:
    lay_out(tmp_path, leaves(), "id", ["kind"], {"p": 0.25, "q": 0.75})
    told = run(tmp_path, baseline_script(replace(TASK, prediction_columns=("p", "q")), "").code)
    assert (told.submission["p"] == 0.25).all()


def one_column(metric: str, column: str, direction: str = "maximize") -> TaskText:
    return TaskText("T", "D", metric, direction, "id", (column,), "submission.csv")


def test_masks_that_nothing_can_be_learnt_of_are_as_most_are(tmp_path: Path) -> None:
    masks = ["" if n % 3 else f"{n + 1} 5" for n in range(120)]
    rows = pd.DataFrame({"id": [f"{n}.png" for n in range(120)], "rle": masks})
    lay_out(tmp_path, rows, "id", ["rle"], {"rle": ""}, with_test=False)
    told = run(tmp_path, baseline_script(one_column("dice", "rle"), "").code)
    assert told.validation["rle"].isna().all()
    assert told.submission["rle"].isna().all()


@pytest.mark.integration
def test_a_part_of_a_text_is_answered_with_the_text(tmp_path: Path) -> None:
    words = np.array(["sun", "rain", "snow", "wind", "hail", "fog"])
    rng = np.random.default_rng(RNG_SEED)
    texts = [" ".join(rng.choice(words, 5)) for _ in range(200)]
    rows = pd.DataFrame({"id": range(200), "text": texts, "part": [" ".join(text.split()[:4]) for text in texts]})
    valid = lay_out(tmp_path, rows, "id", ["part"], {"part": "some"})
    told = run(tmp_path, baseline_script(one_column("word_jaccard", "part"), "").code)
    assert told.validation["part"].tolist() == valid["text"].tolist()


@pytest.mark.integration
def test_ranked_labels_are_as_many_as_the_sample_has(tmp_path: Path) -> None:
    valid = lay_out(tmp_path, leaves(), "id", ["kind"], {"kind": "a b"})
    told = run(tmp_path, baseline_script(one_column("map_at_k", "kind"), "").code)
    ranked = [text.split() for text in told.validation["kind"]]
    assert {len(set(one)) for one in ranked} == {2}
    assert np.mean([one[0] == kind for one, kind in zip(ranked, valid["kind"], strict=True)]) > 0.7


@pytest.mark.integration
def test_grades_are_whole_and_agree_with_the_truth(tmp_path: Path) -> None:
    rows = leaves().assign(grade=lambda d: d["kind"].map({"a": 1, "b": 2, "c": 3})).drop(columns="kind")
    valid = lay_out(tmp_path, rows, "id", ["grade"], {"grade": 1})
    told = run(tmp_path, baseline_script(one_column("quadratic_weighted_kappa", "grade"), "").code)
    assert set(told.validation["grade"]) <= {1, 2, 3}
    assert (told.validation["grade"] == valid["grade"]).mean() > 0.6


@pytest.mark.integration
def test_shares_of_several_columns_sum_to_one(tmp_path: Path) -> None:
    rows = leaves()
    for kind in "abc":
        rows[kind] = np.where(rows["kind"] == kind, 0.8, 0.1)
    valid = lay_out(tmp_path, rows.drop(columns="kind"), "id", list("abc"), {"a": 0.2, "b": 0.4, "c": 0.4})
    told = run(tmp_path, baseline_script(replace(TASK, metric="kl_divergence"), "").code)
    shares = told.validation[list("abc")].to_numpy()
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares.argmax(axis=1) == valid[list("abc")].to_numpy().argmax(axis=1)).mean() > 0.7


@pytest.mark.integration
def test_a_deviation_is_told_beside_the_quantity(tmp_path: Path) -> None:
    rows = leaves().assign(volume=lambda d: 1000 * d["w1"]).drop(columns=["kind", "w1"])
    lay_out(tmp_path, rows, "id", ["volume"], {"volume": 2000, "sure": 100})
    task = TaskText("T", "D", "laplace_log_likelihood", "maximize", "id", ("volume", "sure"), "submission.csv")
    told = run(tmp_path, baseline_script(task, "").code)
    assert told.validation["volume"].nunique() > 50
    assert told.validation["sure"].nunique() == 1
    assert told.validation["sure"].iloc[0] not in (0, 100)


@pytest.mark.integration
def test_numbers_of_a_correlation_need_no_scale_but_are_no_classes(tmp_path: Path) -> None:
    rows = leaves().assign(score=lambda d: d["kind"].map({"a": 0.0, "b": 0.5, "c": 1.0})).drop(columns="kind")
    valid = lay_out(tmp_path, rows, "id", ["score"], {"score": 0.0})
    told = run(tmp_path, baseline_script(one_column("pearson", "score"), "").code)
    assert told.validation["score"].corr(valid["score"]) > 0.7
    assert told.validation["score"].nunique() > 3


@pytest.mark.integration
def test_the_last_season_goes_on_with_a_trend(tmp_path: Path) -> None:
    days = pd.date_range("2020-01-01", periods=240)
    y = 0.5 * np.arange(240) + 5 * (days.day_of_week == 6) + np.random.default_rng(RNG_SEED).normal(size=240)
    valid = lay_out(tmp_path, pd.DataFrame({"id": range(240), "day": days, "y": y}), "id", ["y"], {"y": 0})
    config = plain_config(one_column("rmse", "y")).model_copy(update={"use": ("last season",)})
    told = run(tmp_path, script(config))
    assert np.abs(told.validation["y"] - valid["y"]).mean() < 3
