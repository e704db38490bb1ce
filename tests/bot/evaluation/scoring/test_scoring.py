import json
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.answers import LabelledView, NodeScore, ScoredFiles
from bot.evaluation.graders.process import GraderLimits
from bot.evaluation.grading.grade import grade, grade_nodes, open_hidden_test
from bot.evaluation.scoring import open_scorer
from bot.evaluation.scoring.score import check_view_scorable, score_execution, score_predictions
from scrapers.snapshots.card import TaskCard
from state.errors import GraderStopped, InvalidSubmission, SnapshotError, UnsupportedLayout, UsageError
from tests.bot.evaluation.graders.parts import ABSOLUTE, DEED, snapshot
from tests.bot.evaluation.parts import card, read, write

WHOLE_ONLY = """
def grade(submission, answers):
    assert isinstance(answers, list)
    truth = {answer["example"]: answer["long"] for answer in answers}
    return sum(truth[one.split("_")[0]] == label for one, label in zip(submission["id"], submission["y"])) / len(submission)
"""
WEIGHTED = ABSOLUTE.replace('(submission["y"] - answers["y"])', '((submission["y"] - answers["y"]) * answers["keep"])')


def task(**params: object) -> TaskCard:
    return card("grade.py", **params)


def submit(folder: Path, add: float = 0.0, name: str = "submission.csv") -> Path:
    """Write the answers, with something added, in the sample's order."""
    rows = sorted(read(folder / "private" / "answers.csv")[1:])
    return write(folder / name, ["id", "y"], [[row[0], float(row[1]) + add] for row in rows])


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return snapshot(tmp_path_factory.mktemp("absolute") / "one", ABSOLUTE)


def view(folder: Path, labels: list[list[object]], header: tuple[str, ...] = ("id", "y")) -> tuple[Path, Path]:
    write(folder / "labels" / "labels.csv", header, labels)
    for name in ("sample_validation.csv", "sample_submission.csv"):
        write(folder / "view" / name, ["id", "y"], [[row[0], 0] for row in labels])
    return folder / "labels", folder / "view"


def test_a_metric_of_the_registry_is_computed_whatever_grader_there_is(place: Path) -> None:
    with closing(open_scorer(card("mae"), place / "private" / "grade.py")) as scorer:
        assert scorer.kind == "registry"
    with pytest.raises(UsageError, match="Unknown metric"):
        open_scorer(task(), None)


def test_a_submission_is_graded_by_the_competitions_grader_and_the_report_says_so(place: Path) -> None:
    report = grade(place, task(), submit(place, 1.25))
    assert (report.score, report.grader, report.valid_submission) == (1.25, "competition", True)
    assert report.win_rate == pytest.approx(17 / 20)


@pytest.mark.integration
def test_ids_are_checked_before_the_grader_sees_a_file(place: Path) -> None:
    rows = [["r999", 1.0], *read(submit(place))[2:]]
    report = grade(place, task(), write(place / "wrong.csv", ["id", "y"], rows))
    assert report.score is None
    assert "r999" in report.message


@pytest.mark.integration
def test_every_node_is_graded_by_one_process(place: Path) -> None:
    files = {str(n): submit(place, n / 4, f"n{n}.csv") for n in range(3)}
    found = grade_nodes(place, task(), files, {"0": 0.1, "1": 0.2, "2": 0.3})
    assert [found.nodes[node].score for node in files] == [0.0, 0.25, 0.5]
    assert found.rank_correlation == 1.0


def written_constants() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("constant-*"))


@pytest.mark.parametrize("kind", ["registry", pytest.param("competition", marks=pytest.mark.integration)])
def test_other_rows_predictions_and_one_for_all_rows_are_scored_alike_by_metric_and_grader(
    place: Path, kind: str
) -> None:
    name, grader = ("mae", None) if kind == "registry" else ("grade.py", place / "private" / "grade.py")
    rows = sorted(read(place / "private" / "answers.csv")[1:])
    with closing(open_scorer(card(name), grader)) as scorer:
        truth = scorer.truth(place / "private" / "answers.csv", place / "data" / "sample_submission.csv")
        assert scorer.kind == kind and truth.ids is not None
        at = {id: number for number, id in enumerate(truth.ids)}
        true = {row[0]: float(row[1]) for row in rows}
        first, last = rows[0][0], rows[-1][0]
        predicted = truth.read(submit(place, 0.5, f"{kind}.csv"))
        taken = truth.score(predicted, np.array([at[first]]), np.array([at[last]]))
        assert taken == pytest.approx(abs(true[last] + 0.5 - true[first]))
        before = written_constants()
        with closing(truth.constant([2.0])) as constant:
            written = written_constants() - before
            assert truth.score(constant) == pytest.approx(np.mean([abs(2.0 - value) for value in true.values()]))
    assert not any(path.exists() for path in written)


def test_a_part_is_scored_by_the_rows_of_the_answers(place: Path) -> None:
    with closing(open_hidden_test(place, task())) as test:
        ids = test.truth.ids
        assert ids is not None
        assert ids[0] == "r039"
        rows = sorted(read(submit(place))[1:])
        off = write(place / "off.csv", ["id", "y"], [[r[0], float(r[1]) + (r[0] == "r039") * 8] for r in rows])
        with closing(test.truth.read(off)) as predicted:
            assert test.truth.score(predicted, np.array([0, 1])) == 4.0
            assert test.truth.score(predicted, np.array([1, 2])) == 0.0
            assert test.truth.score(predicted, np.array([], dtype=np.int64)) is None
            assert test.truth.score(predicted) == 0.2


@pytest.mark.integration
def test_a_view_is_scored_by_the_grader(tmp_path: Path, place: Path) -> None:
    labels, data = view(tmp_path, [["b", 1], ["a", 2], ["c", 6]])
    labelled = LabelledView(data, labels, task(), place / "private" / "grade.py")
    guess = write(tmp_path / "validation_predictions.csv", ["id", "y"], [["a", 2], ["b", 1], ["c", 0]])
    found = score_execution(labelled, guess, guess)
    assert found == ScoredFiles(NodeScore(2.0), valid=True, fine=True)
    check_view_scorable(labelled)


@pytest.mark.integration
def test_the_noise_of_a_graders_score_is_that_of_a_mean_of_rows(tmp_path: Path, place: Path) -> None:
    rng = np.random.default_rng(3)
    labels, data = view(tmp_path, [[f"v{n}", float(value)] for n, value in enumerate(rng.normal(0, 2, 400))])
    guess = write(tmp_path / "guess.csv", ["id", "y"], [[f"v{n}", 0.0] for n in range(400)])
    labelled = LabelledView(data, labels, task(), place / "private" / "grade.py")
    found = score_predictions(labelled, guess, None, 0)
    errors = np.abs([float(row[1]) for row in read(labels / "labels.csv")[1:]])
    assert found.std_error == pytest.approx(errors.std() / 20, rel=0.15)


@pytest.mark.integration
def test_a_grader_that_needs_more_columns_than_labels_have_cannot_score_views(tmp_path: Path) -> None:
    folder = snapshot(tmp_path / "one", WEIGHTED)
    rows = read(folder / "private" / "answers.csv")[1:]
    write(
        folder / "private" / "whole.csv", ["id", "y", "keep"], [[*row, int(n % 2 == 0)] for n, row in enumerate(rows)]
    )
    assert grade(folder, task(answers="whole.csv"), submit(folder, 3.0)).score == 1.5
    labels, data = view(tmp_path, [["a", 1], ["b", 2]])
    with pytest.raises(UnsupportedLayout, match=r"columns id, y\): it rejects even correct .*KeyError.*'keep'"):
        check_view_scorable(LabelledView(data, labels, task(), folder / "private" / "grade.py"))


@pytest.mark.integration
def test_answers_of_json_lines_reach_the_grader_whole_and_only_whole_files_are_scored(tmp_path: Path) -> None:
    folder = snapshot(tmp_path / "one", WHOLE_ONLY)
    lines = [json.dumps({"example": f"r{n:03d}", "long": n % 2}) for n in range(40)]
    (folder / "private" / "answers.jsonl").write_text("\n".join(lines) + "\n")
    with closing(open_hidden_test(folder, task(answers="answers.jsonl"))) as test:
        guess = write(tmp_path / "s.csv", ["id", "y"], [[f"r{n:03d}", 0] for n in range(40)])
        assert test.score(guess) == 0.5
        assert test.truth.ids is None


@pytest.mark.parametrize("name", ["../data/sample_submission.csv", "/etc/passwd"])
def test_the_answers_are_a_file_of_private(place: Path, name: str) -> None:
    with pytest.raises(SnapshotError, match="must be a file name without a folder"):
        open_hidden_test(place, task(answers=name))


@pytest.mark.integration
@pytest.mark.parametrize("deed", ["loop", "bomb", "leave"])
def test_a_file_that_only_the_grader_chokes_on_is_invalid(tmp_path: Path, deed: str) -> None:
    source = DEED.replace('deed = submission["y"].iloc[0]', 'deed = "one" if (submission["y"] == 5).all() else RUN')
    folder = snapshot(tmp_path / "one", f"RUN = {deed!r}\n{source}")
    limits = GraderLimits(seconds=20.0) if deed == "loop" else GraderLimits(memory_bytes=2 * 1024**3)
    with closing(open_scorer(task(), folder / "private" / "grade.py", limits)) as scorer:
        truth = scorer.truth(folder / "private" / "answers.csv", folder / "data" / "sample_submission.csv")
        with pytest.raises(InvalidSubmission, match=r"did not finish on submission\.csv, although it did on"):
            truth.score(truth.read(submit(folder)))


@pytest.mark.integration
def test_a_grader_that_fails_on_everything_is_no_verdict_on_a_file(tmp_path: Path) -> None:
    folder = snapshot(tmp_path / "one", "import os\n\n\ndef grade(submission, answers):\n    os._exit(1)\n")
    with closing(open_scorer(task(), folder / "private" / "grade.py")) as scorer:
        truth = scorer.truth(folder / "private" / "answers.csv", folder / "data" / "sample_submission.csv")
        with pytest.raises(GraderStopped):
            truth.score(truth.read(submit(folder)))
