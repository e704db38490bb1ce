"""The answers and the sample submission must fit each other."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from scrapers.snapshots.answers import check_answers, value
from scrapers.snapshots.manifest import Manifest
from scrapers.snapshots.problems import Problems
from tests.scrapers.small import MANIFEST, problems_after, write_csv, write_small

Change = Callable[[Path], object]


def _answers(header: list[str], *rows: list[object]) -> Change:
    return lambda folder: write_csv(folder / "private/answers.csv", header, rows)


def _sample(header: list[str], *rows: list[object]) -> Change:
    return lambda folder: write_csv(folder / "data/sample_submission.csv", header, rows)


CASES: dict[str, tuple[Change, str]] = {
    "no id": (_answers(["x", "y"], [1, 2]), "private/answers.csv:1: has no column 'id'"),
    "no prediction": (_answers(["id", "z"], [1, 2]), "private/answers.csv:1: has no column 'y'"),
    "twice": (
        _answers(["id", "y"], [100, 2], [100, 3]),
        "data/sample_submission.csv: has the id '100' 1 times, but private/answers.csv has it 2 times",
    ),
    "column twice": (_answers(["id", "y", "y"], [100, 2, 2]), "private/answers.csv:1: names a column twice"),
    "ragged": (
        _answers(["id", "y"], [100, 2], [101]),
        "private/answers.csv:3: the row has 1 cells, but the header has 2",
    ),
    "empty": (_answers(["id", "y"]), "private/answers.csv: has no rows"),
    "usage": (_answers(["id", "y", "Usage"], [100, 1, "Other"]), "private/answers.csv:2: `Usage` is 'Other'"),
    "sample without": (_sample(["id"], [100]), "data/sample_submission.csv:1: has no column 'y'"),
    "sample with more": (
        _sample(["id", "y", "z"], [100, 1, 2]),
        "data/sample_submission.csv:1: has columns that are not in the manifest",
    ),
    "sample twice": (
        _sample(["id", "y"], [100, 1], [100, 1]),
        "data/sample_submission.csv: has the id '100' 2 times, but private/answers.csv has it 1 times",
    ),
    "stray quote": (
        lambda s: (s / "private/answers.csv").write_text('id,y\n1,"' + "x" * 17_000_000, encoding="utf-8"),
        "private/answers.csv:2: cannot be read as CSV: field larger than field limit",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_fit_is_named(tmp_path: Path, case: str) -> None:
    change, expected = CASES[case]
    problems = problems_after(tmp_path / "small", change)
    assert any(problem.startswith(expected) for problem in problems), problems


def test_columns_beyond_those_of_the_manifest_are_ignored_in_the_answers(tmp_path: Path) -> None:
    rows: list[list[object]] = [[i, 0.5, i % 4, "Public"] for i in range(100, 108)]
    assert problems_after(tmp_path / "small", _answers(["id", "x", "y", "Usage"], *rows)) == []


def test_rows_that_are_problems_apart_by_two_columns_or_by_their_order_fit(tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        rows: list[list[object]] = [[case, part, case % 3] for case in range(4) for part in ("a", "b")] + [[0, "a", 9]]
        write_csv(folder / "private/answers.csv", ["id", "part", "y"], rows)
        write_csv(folder / "data/sample_submission.csv", ["id", "part", "y"], [[*row[:2], 0] for row in rows])
        manifest = json.loads((folder / "snapshot.json").read_text()) | {"key_columns": ["part"]}
        (folder / "snapshot.json").write_text(json.dumps(manifest))

    assert problems_after(tmp_path / "small", change) == []
    given_away = _sample(["id", "part", "y"], *([0, "a", 0], [0, "b", 0], [1, "a", 1], [1, "b", 1]))
    problems = problems_after(tmp_path / "other", lambda folder: (change(folder), given_away(folder)))
    assert any("reveals the answers: the values of 'y'" in one for one in problems)


def test_many_answers_are_gone_through_in_parts_that_see_every_id(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    ids = range(6_000)
    with (folder / "private/answers.csv").open("w", encoding="utf-8") as answers:
        answers.write("id,y\n" + "".join(f"{i},{i % 5}\n" for i in ids) + "17,3\n")
    with (folder / "data/sample_submission.csv").open("w", encoding="utf-8") as sample:
        sample.write("id,y\n" + "".join(f"{i},0\n" for i in ids[:-2]) + "a,0\n")
    found = Problems()
    answers_kept = check_answers(folder, Manifest.model_validate(MANIFEST), found, cells_at_once=2_500)
    assert 600 < len(answers_kept.values) < 2_000
    text = "\n".join(map(str, found.problems))
    assert "has the id '17' 1 times, but private/answers.csv has it 2 times" in text
    assert "'5998'" in text and "'5999'" in text and "answers.csv: 'a'" in text


def test_numbers_are_compared_as_numbers_and_the_rest_as_text() -> None:
    assert value("1") == value("1.0") == value(" 1e0 ")
    assert value(" one ") == "one"
    assert value("nan") == value("NaN")
