"""No file of data/ reveals the answers, wherever and however it would."""

import bz2
import gzip
import io
import json
import lzma
import random
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapers.snapshots.answers import Answers
from scrapers.snapshots.leaks import leaked_columns
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
        "data/images.zip: its member 'x/Answers.csv' has the same name as the answers file, and agents can read data/"
    ]


def test_equal_ids_with_other_values_are_no_leak(tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        rows = [[i, 0.5, i % 4 + (i == 107)] for i in range(90, 110)]
        write_csv(folder / "data/train.csv", ["id", "x", "y"], rows)

    assert problems_after(tmp_path / "small", change) == []


def test_a_constant_column_is_no_leak(tmp_path: Path) -> None:
    change = _file("data/more.csv", ["id,y", "100,0", "104,0"])  # both answers are 0
    assert problems_after(tmp_path / "small", change) == []


MANY = [(f"p{number:02d}", number * 7 % 5) for number in range(40)]
"""Answers enough for a column of another name to give them away."""
NAMED = [{"id": id, "text": f"It was {id}.", "y": y} for id, y in MANY]
TABLE = "".join(f"{id},{y}\n" for id, y in (("id", "y"), *MANY)).encode()


def _ask_for_many(folder: Path) -> None:
    write_csv(folder / "private/answers.csv", ["id", "y"], MANY)
    write_csv(folder / "data/sample_submission.csv", ["id", "y"], [[id, 0] for id, _ in MANY])
    write_csv(folder / "data/test.csv", ["id", "x", "one"], [[id, number, 1] for number, (id, _) in enumerate(MANY)])


def _joined(delimiter: str, *header: str) -> bytes:
    rows = (header, *MANY) if header else MANY
    return "".join(delimiter.join(map(str, row)) + "\n" for row in rows).encode()


def _tarred(name: str, content: bytes, mode: Literal["w", "w:gz", "w:xz"] = "w") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for member, inside in (
            ("read.me", b"An archive of pictures.\n"),
            ("a/one.png", bytes(range(256))),
            (name, content),
        ):
            described = tarfile.TarInfo(member)
            described.size = len(inside)
            archive.addfile(described, io.BytesIO(inside))
    return file.getvalue()


def _zip_of(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


LINES = "".join(json.dumps(record) + "\n" for record in NAMED).encode()
FORMS: dict[str, bytes] = {
    "test.json": json.dumps(NAMED, indent=1).encode(),
    "test.jsonl": LINES,
    "lines.json": LINES,
    "other_names.json": json.dumps([{"key": id, "label": y, "more": [1]} for id, y in MANY]).encode(),
    "records.csv": json.dumps(NAMED).encode(),
    "target.csv": _joined(",", "Id", "target"),
    "same_id.csv": _joined(",", "id", "target"),
    "same_target.csv": _joined(",", "image", "y"),
    "semicolons.csv": _joined(";", "id", "y"),
    "semicolons_and_names.csv": _joined(";", "image", "target"),
    "bars.txt": _joined("|", "id", "y"),
    "tabs.txt": _joined("\t", "id", "y"),
    "blanks.txt": _joined("  ", "id", "y"),
    "no_header.txt": _joined(" "),
    "no_header.csv": _joined(","),
    "no_suffix": _joined("\t", "id", "y"),
    "x.gz": gzip.compress(TABLE),
    "x.json.gz": gzip.compress(LINES),
    "x.bz2": bz2.compress(TABLE),
    "x.xz": lzma.compress(TABLE),
    "cut_short.gz": gzip.compress(TABLE + random.Random(1).randbytes(20_000).hex("\n", 8).encode())[:-9_000],
    "x.tar": _tarred("known.csv", TABLE),
    "x.tgz": _tarred("known.txt", TABLE, "w:gz"),
    "x.tar.xz": _tarred("known.json", LINES, "w:xz"),
    "packed_in.tar": _tarred("known.gz", gzip.compress(TABLE)),
    "x.zip": _zip_of("known.json", LINES),
    "packed_in.zip": _zip_of("known.csv.gz", gzip.compress(TABLE)),
    "a_zip.dat": _zip_of("known.csv", TABLE),
    "broken_later.json": LINES + b'{"id": ',
}


@pytest.mark.parametrize("name", FORMS)
def test_the_answers_are_found_in_whatever_form_a_file_has(tmp_path: Path, name: str) -> None:
    def change(folder: Path) -> None:
        _ask_for_many(folder)
        (folder / "data" / name).write_bytes(FORMS[name])

    (problem,) = problems_after(tmp_path / "small", change)
    assert problem.startswith(f"data/{name}: ")
    assert "reveals the answers" in problem


def _wrong_once(header: tuple[str, str]) -> bytes:
    rows = [*MANY[:-1], (MANY[-1][0], 99)]
    return "".join(f"{one},{other}\n" for one, other in (header, *rows)).encode()


HONEST: dict[str, bytes] = {
    "one_is_wrong.csv": _wrong_once(("image", "target")),
    "one_is_wrong.txt": _wrong_once(("id", "y")),
    "one_is_wrong.json": json.dumps([*NAMED[:-1], NAMED[-1] | {"y": 99}]).encode(),
    "too_few.csv": b"image,target\n" + b"".join(f"{id},{y}\n".encode() for id, y in MANY[:9]),
    "always_the_same.csv": b"id,fold\n" + b"".join(f"{id},{y}\n".encode() for id, y in MANY if y == 0),
    "x.tar": _tarred("one_is_wrong.csv", _wrong_once(("image", "target"))),
    "cut_short.tar": _tarred("known.csv", TABLE)[:2_000],
    "not_gzip.gz": b"\x1f\x8b\x08 and nothing of the kind",
    "not_zip.dat": b"PK\x03\x04 and nothing of the kind",
    "part.tgz": _tarred("one.bin", random.Random(1).randbytes(30_000), "w:gz")[:9_000],
    "deep.json": b'[{"id": ' + b"[" * 100_000,
    "empty.json": b"[]",
    "nothing": b"",
    "boxes.json": json.dumps({"images": [{"id": id} for id, _ in MANY], "boxes": [1, 2]}).encode(),
    "prose.txt": b'He said: "It was not I.\nWho was it, then? "p01"',
    "picture.csv.png": b"\x89PNG\r\n\x1a\n" + bytes(200),
}


@pytest.mark.parametrize("name", HONEST)
def test_what_does_not_hold_all_answers_is_no_leak(tmp_path: Path, name: str) -> None:
    def change(folder: Path) -> None:
        _ask_for_many(folder)
        (folder / "data" / name).write_bytes(HONEST[name])

    assert problems_after(tmp_path / "small", change) == []


def test_the_name_of_the_answers_is_found_inside_a_tar(tmp_path: Path) -> None:
    change = _written("x.tar", _tarred("x/Answers.csv", b"nothing"))
    (problem,) = problems_after(tmp_path / "small", change)
    assert (
        problem
        == "data/x.tar: its member 'x/Answers.csv' has the same name as the answers file, and agents can read data/"
    )


def _written(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "data" / name).write_bytes(content)


def _train_of_equal_numbers(given: Callable[[int], int]) -> Callable[[Path], object]:
    """The ids of train and test are numbers from 1, as nomad2018's are, and small numbers stand in columns besides."""

    def change(folder: Path) -> None:
        write_csv(folder / "private/answers.csv", ["id", "y"], [[id, id * 7 % 5] for id in range(1, 41)])
        write_csv(folder / "data/sample_submission.csv", ["id", "y"], [[id, 0] for id in range(1, 41)])
        write_csv(folder / "data/test.csv", ["id", "atoms"], [[id, id % 3 * 10] for id in range(1, 41)])
        rows = [[id, id % 3 * 10, id % 7, id * 7 % 5 if id <= 30 else given(id), 0] for id in range(1, 400)]
        write_csv(folder / "data/train.csv", ["id", "atoms", "group", "energy", "y"], rows)

    return change


def test_a_train_table_with_the_numbers_of_the_test_is_a_leak_only_where_it_equals_all_answers(tmp_path: Path) -> None:
    assert problems_after(tmp_path / "honest", _train_of_equal_numbers(lambda id: id % 4)) == []
    (problem,) = problems_after(tmp_path / "leak", _train_of_equal_numbers(lambda id: id * 7 % 5))
    assert problem.startswith("data/train.csv: reveals the answers: the values of 'energy' match")


def test_labels_that_are_no_predictions_are_found_by_their_own_names_alone() -> None:
    answers = Answers(("id",), ("identity",), {id: (float(y),) for id, y in MANY}, predicted=False)
    rows = [["id", "identity", "speaker"], *([id, str(y), str(y)] for id, y in MANY)]
    assert leaked_columns(iter(enumerate(rows, start=1)), answers) == ["identity"]


def test_true_in_json_is_the_answer_1() -> None:
    answers = Answers(("id",), ("y",), {id: (float(y > 2),) for id, y in MANY})
    rows = [["id", "y"], *([id, "true" if y > 2 else "false"] for id, y in MANY)]
    assert leaked_columns(iter(enumerate(rows, start=1)), answers) == ["y"]


TWICE = [(f"c{number}", str(number % 2)) for number in range(40)] + [("c0", "1")]
"""One id is there twice, with different answers."""


@pytest.mark.parametrize("rows", [TWICE, TWICE[::-1], sorted(TWICE, key=lambda row: -int(row[1])), TWICE[1:]])
def test_an_id_that_repeats_does_not_hide_a_leak_whatever_the_order(tmp_path, rows) -> None:
    def change(folder: Path) -> None:
        write_csv(folder / "private/answers.csv", ["id", "y"], TWICE)
        write_csv(folder / "data/sample_submission.csv", ["id", "y"], [[row[0], 0] for row in TWICE])
        write_csv(folder / "data/more.csv", ["id", "y", "x"], [[*row, 1] for row in rows])

    (problem,) = problems_after(tmp_path / "small", change)
    assert problem.startswith("data/more.csv: reveals the answers: the values of 'y'")


def test_where_all_ids_repeat_their_order_distinguishes_a_leak_from_an_honest_column(tmp_path: Path) -> None:
    answers = [(f"d{n // 4}", str(n * 7 % 5)) for n in range(40)]

    def change(rows: list[tuple[str, str]]) -> Callable[[Path], object]:
        def make(folder: Path) -> None:
            write_csv(folder / "private/answers.csv", ["id", "y"], answers)
            write_csv(folder / "data/sample_submission.csv", ["id", "y"], [[row[0], 0] for row in answers])
            write_csv(folder / "data/more.csv", ["id", "y", "x"], [[*row, 1] for row in rows])

        return make

    honest = [(id, str((int(y) + (n == 39)) % 5)) for n, (id, y) in enumerate(answers)]
    assert problems_after(tmp_path / "honest", change(honest)) == []
    assert "reveals the answers" in problems_after(tmp_path / "leak", change(answers))[0]


ONE_HOT = Answers(("id",), ("EAP", "HPL"), {"a": (1.0, 0.0), "b": (0.0, 1.0), "c": (1.0, 0.0)})


def test_a_column_that_names_the_class_is_found() -> None:
    rows = [["id", "author"], ["a", "EAP"], ["b", "HPL"], ["z", "HPL"]]
    assert leaked_columns(iter(enumerate(rows, start=1)), ONE_HOT) == ["author"]


def test_a_column_that_names_another_class_once_is_not() -> None:
    rows = [["id", "author"], ["a", "EAP"], ["b", "HPL"], ["c", "HPL"]]
    assert leaked_columns(iter(enumerate(rows, start=1)), ONE_HOT) == []


def test_short_rows_and_an_empty_table_are_no_leak() -> None:
    rows = [["id", "author"], ["a"], ["b", "HPL"]]
    assert leaked_columns(iter(enumerate(rows, start=1)), ONE_HOT) == []
    assert leaked_columns(iter(()), ONE_HOT) == []


@given(st.dictionaries(st.integers(0, 20), st.integers(0, 3)), st.dictionaries(st.integers(0, 20), st.integers(0, 3)))
def test_a_leak_is_equality_on_all_shared_ids_with_two_values(truth: dict[int, int], shown: dict[int, int]) -> None:
    answers = Answers(("id",), ("y",), {str(key): (float(number),) for key, number in truth.items()})
    rows = [["id", "y"], *([str(key), str(number)] for key, number in shown.items())]
    shared = truth.keys() & shown.keys()
    leak = all(truth[key] == shown[key] for key in shared) and len({truth[key] for key in shared}) > 1
    assert leaked_columns(iter(enumerate(rows, start=1)), answers) == (["y"] if leak else [])
