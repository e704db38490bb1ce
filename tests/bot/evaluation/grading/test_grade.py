import math
from datetime import UTC, datetime

import pytest

from bot.evaluation.grading.grade import grade
from state.clock import ReplayClock
from state.errors import SnapshotError, UsageError
from tests.bot.evaluation.parts import SLUGS, card, real, write

THRESHOLDS = {"gold_threshold", "silver_threshold", "bronze_threshold", "median_threshold"}
MEDALS = {"any_medal", "gold_medal", "silver_medal", "bronze_medal", "above_median"}
FILE = {"submission_exists", "valid_submission", "submission_path", "created_at"}
REPORT = {"competition_id", "score", "is_lower_better", "win_rate", "n_teams", "grader"} | THRESHOLDS | MEDALS | FILE
MLE_BENCH = {
    "aerial-cactus-identification": (0.5, 1221, 1, 1, 1, 0.9991),
    "bike-sharing-demand": (4.76189, 3242, 0.36367, 0.3901, 0.40856, 0.49644),
    "leaf-classification": (4.59512, 1596, 0, 0.00791, 0.01526, 0.108345),
    "nomad2018-predict-transparent-conductors": (0.21174, 879, 0.05589, 0.06229, 0.06582, 0.06988),
    "spooky-author-identification": (1.08468, 1242, 0.16506, 0.26996, 0.29381, 0.418785),
}


@pytest.fixture
def snapshot(tmp_path):
    write(tmp_path / "data" / "sample_submission.csv", ["id", "y"], [["a", 0], ["b", 0]])
    write(tmp_path / "private" / "answers.csv", ["id", "y", "Usage"], [["b", 2, "Public"], ["a", 1, "Private"]])
    write(tmp_path / "leaderboard.csv", ["score"], [[n / 10] for n in range(10)])
    return tmp_path


def submit(snapshot, *values):
    return write(snapshot / "submission.csv", ["id", "y"], zip("ab", values, strict=False))


def test_a_report_has_mle_benchs_names_and_ours(snapshot):
    clock = ReplayClock(datetime(2020, 1, 1, tzinfo=UTC))
    path = submit(snapshot, 1, 2)
    report = grade(snapshot, card(), path, clock)
    assert set(report.model_dump(exclude_none=True)) == REPORT
    assert (report.competition_id, report.score, report.n_teams) == ("small", 0.0, 10)
    assert report.gold_medal and report.any_medal and report.valid_submission and report.submission_exists
    assert report.win_rate == 0.9 and report.submission_path == str(path)
    assert datetime.fromisoformat(report.created_at).tzinfo is not None


def test_scores_are_rounded_to_five_digits(snapshot):
    assert grade(snapshot, card(), submit(snapshot, 1.123456789, 2)).score == round(0.123456789 / math.sqrt(2), 5)


def test_an_invalid_submission_wins_nothing_and_says_why(snapshot):
    report = grade(snapshot, card(), submit(snapshot, 1))
    assert set(report.model_dump()) == {*REPORT, "message", "note"}
    assert (report.score, report.win_rate, report.any_medal) == (None, 0.0, False)
    assert report.submission_exists and not report.valid_submission
    assert "2 are expected" in report.message and report.gold_threshold == 0.0


def test_a_missing_file_or_one_without_its_suffix_does_not_exist(snapshot):
    named = submit(snapshot, 1, 2).rename(snapshot / "submission.txt")
    for path in (snapshot / "nothing.csv", named):
        report = grade(snapshot, card(), path)
        assert not report.submission_exists and not report.valid_submission and report.message


def test_the_cards_direction_counts_and_a_contrary_board_is_noted(snapshot):
    report = grade(snapshot, card("accuracy"), submit(snapshot, 1, 3))
    assert report.score == 0.5
    assert "contradicts the metric direction in use (maximize)" in report.note
    assert report.is_lower_better is False


def test_a_board_whose_ends_are_tied_is_noted_where_mle_bench_would_turn_it_round(snapshot):
    write(snapshot / "leaderboard.csv", ["score"], [[1], [1]])
    path = submit(snapshot, 1, 3)
    report = grade(snapshot, card(), path)
    assert report.is_lower_better and report.gold_medal and "assume that higher is better" in report.note
    assert grade(snapshot, card("accuracy"), path).note is None


def test_what_is_no_plain_file_is_no_submission(snapshot):
    (snapshot / "folder.csv").mkdir()
    for name, expected in {
        "folder.csv": "is a folder",
        "a\0.csv": "is not a valid file name",
        "x" * 300 + ".csv": "too long",
    }.items():
        report = grade(snapshot, card(), snapshot / name)
        assert not report.submission_exists and expected in report.message


def test_answers_that_do_not_cover_the_sample_are_the_snapshots_fault(snapshot):
    write(snapshot / "private" / "answers.csv", ["id", "y"], [["a", 1]])
    with pytest.raises(SnapshotError, match=r"private/answers.csv: .*missing id is 'b'"):
        grade(snapshot, card(), submit(snapshot, 1, 2))
    (snapshot / "private" / "answers.csv").unlink()
    with pytest.raises(SnapshotError, match=r"private/answers.csv: the file is missing"):
        grade(snapshot, card(), submit(snapshot, 1, 2))


def test_an_unknown_metric_is_an_error_of_use(snapshot):
    with pytest.raises(UsageError, match="Unknown metric 'f1'"):
        grade(snapshot, card("f1"), submit(snapshot, 1, 2))


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_sample_submissions_get_the_score_and_lines_that_mle_bench_gives_them(slug):
    folder, task = real(slug)
    report = grade(folder, task, folder / "data" / "sample_submission.csv")
    lines = (getattr(report, f"{name}_threshold") for name in ("gold", "silver", "bronze", "median"))
    assert (report.score, report.n_teams, *lines) == pytest.approx(MLE_BENCH[slug])
    assert report.note is None


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_the_answers_themselves_win_gold(slug, tmp_path):
    folder, task = real(slug)
    text = (folder / "private" / "answers.csv").read_text()
    header, *rows = [line.split(",") for line in text.splitlines()]
    wanted = (task.id_column, *task.prediction_columns)
    rows = [[row[header.index(name)] for name in wanted] for row in rows]
    report = grade(folder, task, write(tmp_path / "submission.csv", wanted, rows))
    assert report.gold_medal and report.score == (0.0 if task.lower_is_better else 1.0)
