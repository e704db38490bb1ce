"""The bank: predictions in the sample's order, once each, that score as the file does that they were read from."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.answers import Gain, LabelledView, NodeScore
from bot.evaluation.scoring.bank import read_predicted
from bot.evaluation.scoring.score import score_execution, score_predictions
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card, write

IDS = [f"r{n}" for n in range(60)]


def view(folder: Path, task: TaskCard, cells: list[object]) -> LabelledView:
    for place in ("view/sample_validation", "view/sample_submission", "labels/labels"):
        write(folder / f"{place}.csv", ["id", "y"], zip(IDS, cells, strict=True))
    return LabelledView(folder / "view", folder / "labels", task)


def scored(of: LabelledView, folder: Path, cells: list[object], order: int = 1) -> NodeScore | None:
    file = write(folder / "own.csv", ["id", "y"], list(zip(IDS, cells, strict=True))[::order])
    return score_execution(of, file, file, folder / "bank").score


def test_equal_predictions_are_kept_once_in_the_order_of_the_sample(tmp_path: Path) -> None:
    of, guess = view(tmp_path, card(), [n % 5 for n in range(60)]), [n % 5 + 0.5 for n in range(60)]
    found = scored(of, tmp_path, guess)
    assert found.predictions == found.submission is not None
    assert scored(of, tmp_path, [f"{one:.3f}" for one in guess], order=-1) == found
    (kept,) = (tmp_path / "bank").iterdir()
    assert np.load(kept).tolist() == [[one] for one in guess]
    assert kept.name == found.predictions
    plain = score_predictions(of, tmp_path / "own.csv", None, 0)
    assert score_predictions(of, kept, kept, 0) == replace(plain, gain=Gain(0.0, 0.0))


def test_labels_come_back_as_they_were_and_long_texts_stay_a_file(tmp_path: Path) -> None:
    of, labels = view(tmp_path, card("accuracy"), ["a"] * 60), ["ä b", "1", "None"] * 20
    found = scored(of, tmp_path, labels)
    sample = of.data / "sample_validation.csv"
    values = read_predicted(tmp_path / "bank" / str(found.predictions), sample, of.card)
    assert (values.ravel().tolist(), values.dtype) == (labels, np.dtype(object))
    kept = tmp_path / "bank" / str(found.predictions)
    kept.write_bytes(kept.read_bytes()[:-4])
    with pytest.raises(InvalidSubmission, match="cannot be read"):
        read_predicted(kept, sample, of.card)
    long = scored(of, tmp_path, ["x" * 5_000, *labels[1:]])
    assert str(long.predictions).endswith(".csv")
    assert read_predicted(tmp_path / "bank" / str(long.predictions), sample, of.card)[0, 0] == "x" * 5_000


def test_what_has_no_score_or_is_invalid_is_not_kept(tmp_path: Path) -> None:
    of = view(tmp_path, card(), [0.0] * 60)
    file = write(tmp_path / "own.csv", ["id", "y"], [[id, 1] for id in IDS])
    assert score_execution(of, file, tmp_path / "none.csv", tmp_path / "bank").score.predictions is None
    assert scored(of, tmp_path, ["nan"] * 60) is None
    assert not (tmp_path / "bank").exists()


def test_an_array_of_other_rows_or_one_that_is_gone_is_refused(tmp_path: Path) -> None:
    of, place = view(tmp_path, card(), [0.0] * 60), tmp_path / "other.npy"
    with pytest.raises(InvalidSubmission, match="cannot be read"):
        score_predictions(of, place, None, 0)
    np.save(place, np.zeros((59, 1)))
    with pytest.raises(InvalidSubmission, match=r"the shape \(59, 1\); expected: \(60, 1\)"):
        score_predictions(of, place, None, 0)
