from pathlib import Path

import pytest

from bot.research.importers.mle_bench.board import read_board, write_board
from state.errors import SnapshotError
from tests.bot.research.importers.mle_bench.prepared_folder import write_table


def board(tmp_path: Path, *rows: tuple[object, ...]) -> Path:
    path = tmp_path / "leaderboard.csv"
    write_table(path, ("teamId", "submissionDate", "score"), rows)
    return path


@pytest.mark.parametrize(
    "date",
    [
        "2018-12-01T10:20:30.1234567Z",
        "2018-12-01 10:20:30",
        "2018-12-01 10:20:30.000",
        "12/01/2018 10:20:30 AM",
        "2018-12-01T12:20:30+02:00",
    ],
)
def test_dates_are_read_in_every_form_that_kaggle_has_had(tmp_path: Path, date: str) -> None:
    span = read_board(board(tmp_path, (1, date, 0.5), (2, "", 0.6), (3, "soon", 0.7))).span
    assert span is not None
    assert [f"{time:%Y-%m-%d %H:%M:%S %Z}" for time in span] == ["2018-12-01 10:20:30 UTC"] * 2


def test_a_score_keeps_its_digits(tmp_path: Path) -> None:
    write_board(read_board(board(tmp_path, (1, "", "0.10"), (2, "", "0.2000001"))), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "rank,score\n1,0.10\n2,0.2000001\n"


@pytest.mark.parametrize(("scores", "lower"), [((1, 2, 2), True), ((2, 1), False), ((1, 1, 1), None), ((1,), None)])
def test_the_order_shows_which_way_is_better(tmp_path: Path, scores: tuple[int, ...], lower: bool | None) -> None:
    assert read_board(board(tmp_path, *((1, "", score) for score in scores))).lower_is_better is lower


@pytest.mark.parametrize(
    ("scores", "sentence"),
    [
        ((1, 3, 2, 4), "leaderboard.csv:4: is not sorted from best to worst: 2 comes after 3"),
        ((1, 2, 1), "leaderboard.csv:3: is not sorted from best to worst"),
        ((1, "nan", 2), "leaderboard.csv:3: `score` is 'nan', not a finite number"),
        ((1, "none", 2), "leaderboard.csv:3: `score` is 'none', not a finite number"),
        (("", " "), "leaderboard.csv: has no scored entries"),
        ((), "leaderboard.csv: has no entries"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, scores: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(SnapshotError, match=sentence):
        read_board(board(tmp_path, *((1, "", score) for score in scores)))


def test_entries_without_a_score_are_left_out_and_counted(tmp_path: Path) -> None:
    read = read_board(board(tmp_path, (1, "", 1), (2, "", ""), (3, "", 2), (4, "", " ")))
    assert (read.scores, read.unscored) == ([1.0, 2.0], 2)


def test_a_file_without_scores(tmp_path: Path) -> None:
    write_table(tmp_path / "leaderboard.csv", ("rank",), [(1,)])
    with pytest.raises(SnapshotError, match="has no column `score`"):
        read_board(tmp_path / "leaderboard.csv")
