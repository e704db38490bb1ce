"""No file of data/ gives the answers away, wherever and however it would."""

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapers.answers import Answers
from scrapers.leaks import given_away
from tests.scrapers.small import problems_after, write_csv

ROWS = [f"{i},{i % 4}" for i in range(100, 108)]


def _zipped(name: str, lines: list[str]) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        with zipfile.ZipFile(folder / "data/images.zip", "w") as archive:
            archive.writestr("train/0.txt", "picture")
            archive.writestr(name, "\n".join(lines))

    return change


def _file(name: str, lines: list[str]) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(lines) + "\n"
        (folder / name).write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())

    return change


LEAKS: dict[str, Callable[[Path], object]] = {
    "data/extra/more.csv": _file("data/extra/more.csv", ["y,other,id", *(f"{i % 4},7,{i}" for i in range(100, 108))]),
    "data/floats.csv": _file("data/floats.csv", ["id,y", *(f"{i},{i % 4}.0" for i in range(100, 108))]),
    "data/some.csv": _file("data/some.csv", ["id,y", *ROWS[2:5], "7,9"]),
    "data/tabs.tsv": _file("data/tabs.tsv", [line.replace(",", "\t") for line in ["id,y", *ROWS]]),
    "data/packed.csv.gz": _file("data/packed.csv.gz", ["id,y", *ROWS]),
    "data/sample_submission.csv": _file("data/sample_submission.csv", ["id,y", *ROWS, ""]),
    "data/images.zip": _zipped("deep/more.csv", ["id,y", *ROWS, "1,1"]),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_column_that_equals_the_answers_is_found(tmp_path: Path, name: str) -> None:
    problems = problems_after(tmp_path / "small", LEAKS[name])
    assert len(problems) == 1
    assert problems[0].startswith(f"{name}: ")
    assert "answers" in problems[0]


def test_the_name_of_the_answers_is_found_inside_an_archive(tmp_path: Path) -> None:
    problems = problems_after(tmp_path / "small", _zipped("x/Answers.csv", ["nothing"]))
    assert problems == [
        "data/images.zip: its member 'x/Answers.csv' has the name of the answers; agents may read data/"
    ]


def test_equal_ids_with_other_values_are_no_leak(tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        rows = [[i, 0.5, i % 4 + (i == 107)] for i in range(90, 110)]
        write_csv(folder / "data/train.csv", ["id", "x", "y"], rows)

    assert problems_after(tmp_path / "small", change) == []


def test_a_constant_column_is_no_leak(tmp_path: Path) -> None:
    change = _file("data/more.csv", ["id,y", "100,0", "104,0"])  # both answers are 0
    assert problems_after(tmp_path / "small", change) == []


TWICE = [(f"c{number}", str(number % 2)) for number in range(40)] + [("c0", "1")]
"""One id is there twice, with different answers."""


@pytest.mark.parametrize("rows", [TWICE, TWICE[::-1], sorted(TWICE, key=lambda row: -int(row[1])), TWICE[1:]])
def test_an_id_that_repeats_does_not_hide_a_leak_whatever_the_order(
    tmp_path: Path, rows: list[tuple[str, str]]
) -> None:
    def change(folder: Path) -> None:
        write_csv(folder / "private/answers.csv", ["id", "y"], TWICE)
        write_csv(folder / "data/sample_submission.csv", ["id", "y"], [[row[0], 0] for row in TWICE])
        write_csv(folder / "data/more.csv", ["id", "y", "x"], [[*row, 1] for row in rows])

    (problem,) = problems_after(tmp_path / "small", change)
    assert problem.startswith("data/more.csv: gives the answers away: 'y'")


def test_where_all_ids_repeat_their_order_tells_a_leak_from_an_honest_column(tmp_path: Path) -> None:
    answers = [(f"d{n // 4}", str(n * 7 % 5)) for n in range(40)]

    def change(rows: list[tuple[str, str]]) -> Callable[[Path], object]:
        def make(folder: Path) -> None:
            write_csv(folder / "private/answers.csv", ["id", "y"], answers)
            write_csv(folder / "data/sample_submission.csv", ["id", "y"], [[row[0], 0] for row in answers])
            write_csv(folder / "data/more.csv", ["id", "y", "x"], [[*row, 1] for row in rows])

        return make

    honest = [(id, str((int(y) + (n == 39)) % 5)) for n, (id, y) in enumerate(answers)]
    assert problems_after(tmp_path / "honest", change(honest)) == []
    assert "gives the answers away" in problems_after(tmp_path / "leak", change(answers))[0]


ONE_HOT = Answers(("id",), ("EAP", "HPL"), {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (1.0, 0.0)})


def test_a_column_that_names_the_class_is_found() -> None:
    rows = [["id", "author"], ["a", "EAP"], ["b", "HPL"], ["z", "HPL"]]
    assert given_away(iter(enumerate(rows, start=1)), ONE_HOT) == ["author"]


def test_a_column_that_names_another_class_once_is_not() -> None:
    rows = [["id", "author"], ["a", "EAP"], ["b", "HPL"], ["c", "HPL"]]
    assert given_away(iter(enumerate(rows, start=1)), ONE_HOT) == []


def test_short_rows_and_an_empty_table_are_no_leak() -> None:
    rows = [["id", "author"], ["a"], ["b", "HPL"]]
    assert given_away(iter(enumerate(rows, start=1)), ONE_HOT) == []
    assert given_away(iter(()), ONE_HOT) == []


@settings(deadline=None)
@given(st.dictionaries(st.integers(0, 20), st.integers(0, 3)), st.dictionaries(st.integers(0, 20), st.integers(0, 3)))
def test_a_leak_is_equality_on_all_shared_ids_with_two_values(truth: dict[int, int], shown: dict[int, int]) -> None:
    answers = Answers(("id",), ("y",), {str(key): (float(number),) for key, number in truth.items()})
    rows = [["id", "y"], *([str(key), str(number)] for key, number in shown.items())]
    shared = truth.keys() & shown.keys()
    leak = all(truth[key] == shown[key] for key in shared) and len({truth[key] for key in shared}) > 1
    assert given_away(iter(enumerate(rows, start=1)), answers) == (["y"] if leak else [])
