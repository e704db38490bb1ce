"""One run, two scores: rows of the hold-out and of `final` are asked for as one and scored apart, in every layout."""

import json
import math
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.answers import LabelledView, NodeScore, ScoredFiles
from bot.evaluation.guards.running import guard_execution, guard_view
from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.scoring import open_scorer, parts_of
from bot.evaluation.scoring.interval import validation_interval
from bot.evaluation.scoring.score import check_view_scorable, score_execution, score_predictions
from bot.evaluation.views.build import VERSION, build_view
from bot.evaluation.views.parts import final_places
from bot.evaluation.views.split import split_rows
from state.errors import InfrastructureFailure, UnsupportedLayout
from tests.bot.evaluation.graders.parts import ABSOLUTE
from tests.bot.evaluation.guards.parts import Ground, Left, ground, near
from tests.bot.evaluation.parts import SLUGS, card, competition, read, real, write
from tests.bot.evaluation.views.test_folds_file import scored_by_registry
from tests.bot.evaluation.written_layouts import LAYOUTS, view_of, write_layout


@pytest.fixture
def view(tmp_path):
    data = competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(100)], [["t0", 0], ["t1", 1]])
    build_view(data, card(), "holdout", 0, tmp_path / "view", tmp_path / "labels")
    return tmp_path


def scored(view, predictions, submission, task=None):
    return score_execution(LabelledView(view / "view", view / "labels", task or card()), predictions, submission)


def test_predictions_are_scored_by_the_official_metric(view):
    rows = [[row[0], float(row[0][1:]) + 2] for row in read(view / "view" / "sample_validation.csv")[1:]]
    predictions = write(view / "validation_predictions.csv", ["id", "y"], reversed(rows))
    submission = write(view / "submission.csv", ["id", "y"], [["t1", 1], ["t0", 0]])
    assert scored(view, predictions, submission) == ScoredFiles(
        NodeScore(pytest.approx(2.0), final=pytest.approx(2.0)), valid=True, fine=True
    )


def test_score_and_validity_are_independent(view):
    good = view / "view" / "sample_validation.csv"
    bad = write(view / "submission.csv", ["id", "y"], [["t0", 1]])
    result = scored(view, good, bad)
    assert math.isfinite(result.score.value) and not result.valid
    assert "submission.csv has 1 rows; 2 are expected" in result.message


def test_what_was_not_written_gives_no_score(view):
    result = scored(view, view / "validation_predictions.csv", view / "submission.csv")
    assert (result.score, result.valid, result.fine) == (None, False, False)
    assert "validation_predictions.csv does not exist" in result.message
    assert "submission.csv does not exist" in result.message


def test_predictions_for_other_rows_give_no_score(view):
    sample = view / "view" / "sample_submission.csv"
    result = scored(view, sample, sample)
    assert (result.score, result.valid, result.fine) == (None, True, False)
    assert "the id 't0' is not in the sample" in result.message


def test_a_truth_that_cannot_be_scored_is_no_fault_of_the_files(view):
    write(view / "labels" / "labels.csv", ["id", "y"], [[r[0], 1] for r in read(view / "labels" / "labels.csv")[1:]])
    sample = view / "view" / "sample_validation.csv"
    result = scored(view, sample, view / "view" / "sample_submission.csv", card("roc_auc"))
    assert result.score is None and result.fine
    message = "metric roc_auc cannot be computed on these rows: the truth in column y (1) is the same in all 20 rows."
    assert message in result.message
    with pytest.raises(UnsupportedLayout, match=r"cannot score this view's labels .*: the truth in column y \(1\)"):
        check_view_scorable(LabelledView(view / "view", view / "labels", card("roc_auc")))


def test_predictions_that_a_metric_is_not_defined_on_are_named(view):
    result = scored(
        view, view / "view" / "sample_validation.csv", view / "view" / "sample_submission.csv", card("pearson")
    )
    assert result.score is None and result.fine
    assert "for sample_validation.csv: the prediction in column y (0) is the same in all 20 rows." in result.message


def test_lost_labels_are_the_engines_failure(view):
    (view / "labels" / "labels.csv").unlink()
    with pytest.raises(InfrastructureFailure, match="labels of this view cannot be read"):
        scored(view, view / "view" / "sample_validation.csv", view / "submission.csv")


def of_layout(name: str, place: Path, kind: str = "holdout") -> tuple[Path, LabelledView]:
    data, task = write_layout(name, place)
    _, out, labels = view_of(data, task, kind)
    return data, LabelledView(out, labels.parent, scored_by_registry(task))


def score_of(view: LabelledView, rows: list[list[str]], place: Path) -> tuple[float | None, float | None]:
    found = score_execution(view, write(place / "own.csv", read(view.truth)[0], rows), place / "none.csv")
    return (None, None) if found.score is None else (found.score.value, found.score.final)


def spoilt(view: LabelledView, rows: list[list[str]], places: set[int]) -> list[list[str]]:
    """Give the rows at some places the predictions of others."""
    keys = len(view.card.row_columns)
    shift = max(1, len(rows) // 2 - 1)
    return [
        [*row[:keys], *rows[(at + shift) % len(rows)][keys:]] if at in places else row for at, row in enumerate(rows)
    ]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_both_parts_are_asked_for_and_scored_apart_in_every_layout(layout, tmp_path):
    data, view = of_layout(layout, tmp_path)
    apart, (_, *truth) = set(final_places(view.labels)), read(view.truth)
    rest = set(range(len(truth))) - apart
    assert apart and len(apart) < len(rest)
    perfect = score_of(view, truth, tmp_path)
    assert perfect[0] is not None and perfect[0] == pytest.approx(perfect[1])
    for wrong, other in ((apart, 0), (rest, 1)):
        found = score_of(view, spoilt(view, truth, wrong), tmp_path)
        assert found[other] == perfect[other], "what is predicted for the other part makes no difference"
        assert found[1 - other] != pytest.approx(perfect[1 - other])
    original = read_layout(data, view.card)
    split = split_rows(original, 0, VERSION)
    units = {original.form.unit(truth[place][0]) for place in apart}
    assert {original.ids[row] for row in split.rows("final") if original.form.has_prediction_rows(row)} == units


# A wide table's rows cannot stand in for test rows.
@pytest.mark.parametrize("layout", sorted(LAYOUTS.keys() - {"cervical_fractures"}))
def test_rows_that_stand_in_for_the_test_are_scored_apart_as_well(layout, tmp_path):
    _, holdout = of_layout(layout, tmp_path / "a")
    _, swapped = of_layout(layout, tmp_path / "b", "swap")
    assert final_places(swapped.labels) == final_places(holdout.labels)
    assert read(swapped.truth) == read(holdout.truth)
    truth = read(swapped.truth)[1:]
    assert score_of(swapped, truth, tmp_path) == score_of(holdout, truth, tmp_path)


def test_the_parts_lie_mixed_and_nothing_in_the_view_tells_them_apart(tmp_path):
    here = ground(tmp_path)
    apart = final_places(here.labels)
    many = len(read(here.labels / "labels.csv")) - 1
    part = [place in apart for place in range(many)]
    assert (many, sum(part)) == (270, 90)
    changes = sum(a != b for a, b in pairwise(part))
    assert changes > 0.8 * 2 * 180 * 90 / many, "as often as by chance"
    shown = {path.name for path in here.data.rglob("*")}
    names = {"train.csv", "test.csv", "sample_submission.csv", "validation.csv", "sample_validation.csv"}
    assert shown == names
    assert {len(set(column)) for column in zip(*read(here.data / "sample_validation.csv")[1:], strict=True)} == {
        many,
        1,
    }


def test_views_without_a_final_part_have_one_score(tmp_path):
    here = ground(tmp_path)
    for name in ("sample", "full"):
        place = tmp_path / name
        build_view(here.folder / "data", here.card, name, 0, place / "data", place / "labels")
        view = LabelledView(place / "data", place / "labels", here.card)
        assert score_of(view, read(view.truth)[1:], tmp_path)[1] is None


@pytest.fixture(scope="module")
def twins(tmp_path_factory) -> tuple[Ground, Ground]:
    """The same view twice; in one the labels of `final` are others."""
    made = [ground(tmp_path_factory.mktemp(name)) for name in ("one", "other")]
    file = made[1].labels / "labels.csv"
    header, *rows = read(file)
    write(
        file, header, ([id, 1 - int(y) if at in final_places(made[1].labels) else y] for at, (id, y) in enumerate(rows))
    )
    return made[0], made[1]


@pytest.mark.integration
def test_nothing_but_the_final_score_depends_on_the_labels_of_final(twins):
    seen = []
    for here in twins:
        # Both are predicted alike, whatever the labels of `final` are here.
        known = read(twins[0].labels / "labels.csv")[1:]
        labels = {id: float(y) for id, y in known}
        values = near(0.8)(labels, np.random.default_rng(1))
        own = Left(here, lambda labels, _, values=values: values if len(labels) == len(values) else [0.4] * len(labels))
        guards = (own.found(), guard_view(here.labelled))
        view = LabelledView(here.data, here.labels, here.card)
        files = score_execution(view, *own.files)
        check_view_scorable(view)
        score = replace(score_predictions(view, own.files[0], None, 0), final=None)
        seen.append((replace(files.score, final=None), *guards, score, validation_interval(view, own.files[0], 0)))
        assert files.score.final is not None
    assert seen[0] == seen[1]
    assert score.std_error is not None
    assert [one for one in seen[0][1] if one.verdict == "not run" and one.is_doubt] == []


def test_guards_still_doubt_what_is_found_on_the_holdout_part(tmp_path):
    here = ground(tmp_path)
    constant = Left(here, lambda labels, _: [0.3] * len(labels))
    assert constant.finding("constant").verdict == "suspicious"
    files = constant.files
    printed = guard_execution(here.labelled, *files, constant.score, "validation score: 0.0001")
    assert next(one for one in printed if one.guard == "printed score").verdict == "suspicious"


def test_a_final_part_that_cannot_be_scored_costs_no_score(tmp_path):
    train = [[f"r{n}", n, n % 2] for n in range(100)]
    data = competition(tmp_path / "data", train, [["t", 0]])
    task = card("roc_auc")
    _, out, labels = view_of(data, task)
    header, *rows = read(labels)
    write(labels, header, ([id, 1 if at in final_places(labels.parent) else y] for at, (id, y) in enumerate(rows)))
    view = LabelledView(out, labels.parent, task)
    found = score_execution(
        view,
        write(tmp_path / "own.csv", header, ([id, n] for n, (id, _) in enumerate(rows))),
        tmp_path / task.submission_file,
    )
    assert found.score is not None and found.score.final is None
    assert found.message == f"{task.submission_file} does not exist.", "no word of the final part"


def test_predictions_that_lack_a_row_of_final_are_refused(tmp_path):
    here = ground(tmp_path)
    view = LabelledView(here.data, here.labels, here.card)
    header, *rows = read(view.truth)
    gone = min(final_places(here.labels))
    found = score_execution(
        view, write(tmp_path / "own.csv", header, rows[:gone] + rows[gone + 1 :]), tmp_path / "none.csv"
    )
    assert (found.score, found.fine) == (None, False)
    assert f"has {len(rows) - 1} rows; {len(rows)} are expected" in (found.message or "")


@pytest.mark.integration
def test_a_competitions_own_grader_scores_both_parts(tmp_path):
    here = ground(tmp_path, "quantity")
    grader = tmp_path / "grade.py"
    grader.write_text(ABSOLUTE)
    view = LabelledView(here.data, here.labels, card("grade.py"), grader)
    check_view_scorable(view)
    header, *rows = read(view.truth)
    apart = final_places(here.labels)
    own = write(
        tmp_path / "own.csv", header, ([id, float(y) + (3 if at in apart else 1)] for at, (id, y) in enumerate(rows))
    )
    found = score_execution(view, own, tmp_path / "none.csv")
    assert (found.score.value, found.score.final) == (pytest.approx(1.0), pytest.approx(3.0))
    assert score_predictions(view, own, None, 0).std_error == pytest.approx(0.0, abs=1e-9)
    with closing(open_scorer(view.card, grader)) as scorer:
        holdout, final = parts_of(view, scorer)
        assert holdout.fault() is None and final is not None and final.fault() is None


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_the_parts_of_real_competitions_are_scored_apart(slug, tmp_path):
    folder, task = real(slug)
    info = build_view(folder / "data", task, "holdout", 1, tmp_path / "data", tmp_path / "labels")
    view = LabelledView(tmp_path / "data", tmp_path / "labels", task)
    check_view_scorable(view)
    truth = read(view.truth)[1:]
    apart = set(final_places(view.labels))
    assert len(apart) == info.final_rows and len(truth) == info.validation_rows
    perfect = score_of(view, truth, tmp_path)
    found = score_of(view, spoilt(view, truth, apart), tmp_path)
    assert found[0] == perfect[0] and found[1] != pytest.approx(perfect[1])
    assert json.loads((tmp_path / "labels" / "view.json").read_bytes())["version"] == VERSION
