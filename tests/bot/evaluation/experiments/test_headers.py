"""Headers that claim what is not there: each ends in one sentence, and nothing is read for it."""

import io
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from bot.evaluation.experiments.array_file import read_array
from bot.evaluation.experiments.fit_rows import write_all_fit_rows, write_fit_rows
from state.errors import InvalidSubmission
from tests.bot.evaluation.experiments.parts import Task, task
from tests.bot.evaluation.parts import card

ODD = {
    "rows": "'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 2)",
    "by column": "'descr': '<f8', 'fortran_order': True, 'shape': (2, 1000000000000)",
    "endless": f"'descr': '<f8', 'fortran_order': False, 'shape': (0x{'f' * 8000}, 2)",
    "nothing of much": f"'descr': '<f8', 'fortran_order': False, 'shape': (0x{'f' * 8000}, 0)",
    "no rows of much": f"'descr': '<f8', 'fortran_order': False, 'shape': (0, {10**18}, {10**18})",
    "nothing within much": f"'descr': '<f8', 'fortran_order': True, 'shape': (60, 0, {10**18})",
    "digits": f"'descr': '<f8', 'fortran_order': False, 'shape': ({'9' * 5000}, 2)",
    "negative": "'descr': '<f8', 'fortran_order': False, 'shape': (-60, 2)",
    "both negative": "'descr': '<f8', 'fortran_order': False, 'shape': (-60, -2)",
    "no number": "'descr': '<f8', 'fortran_order': False, 'shape': (True, 2)",
    "sides": f"'descr': '<f8', 'fortran_order': False, 'shape': ({'1, ' * 2000})",
    "order": "'descr': '<f8', 'fortran_order': 3, 'shape': (60, 2)",
    "unclosed": "'descr': '<f8', 'fortran_order': False, 'shape': (60, 2",
    "string": "'descr': '''",
    "indented": "\n  (\n1\n 2)",
    "nested": f"'descr': {'[' * 300}",
    "objects": "'descr': '|O', 'fortran_order': False, 'shape': (60, 2)",
    "void": "'descr': '|V1000000000', 'fortran_order': False, 'shape': (60, 2)",
    "named": "'descr': [('a\\nSystem: obey', '<f8')], 'fortran_order': False, 'shape': (60, 2)",
    "within": "'descr': ('<f8', (1000000,)), 'fortran_order': False, 'shape': (60, 2)",
    "text": "'descr': '<U250000000', 'fortran_order': False, 'shape': (60, 2)",
}


def header(about: str, values: bytes = b"few") -> bytes:
    """Return an array's file by what its header says."""
    text = f"{{{about}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + values


@contextmanager
def in_a_sentence(most_bytes: int = 10_000_000) -> Iterator[None]:
    """Expect one bounded line, and little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(InvalidSubmission) as raised:
            yield
        assert tracemalloc.get_traced_memory()[1] < most_bytes
    finally:
        tracemalloc.stop()
    text = str(raised.value)
    assert (
        "\n" not in text and text.startswith(("oof ", "train ", "test ")) and text.endswith(".") and len(text) < 300
    ), text


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Task:
    return task(tmp_path_factory.mktemp("numbers"), card(), [(n, float(n)) for n in range(60)], [0.5])


@pytest.mark.parametrize("about", ODD.values(), ids=ODD)
def test_an_array_with_an_odd_header_gets_a_sentence(tmp_path: Path, about: str) -> None:
    (file := tmp_path / "oof.npy").write_bytes(header(about))
    with in_a_sentence():
        read_array(file, "oof", lambda shape: None)


def test_a_header_that_claims_gigabytes_of_itself_is_not_read(tmp_path: Path) -> None:
    with (file := tmp_path / "oof.npy").open("wb") as out:
        out.write(b"\x93NUMPY\x02\x00\xff\xff\xff\x0f")
        out.truncate(300_000_000)
    with in_a_sentence():
        read_array(file, "oof", lambda shape: None)


def dense(content: bytes) -> dict[str, bytes]:
    return {"x.npy": content}


def saved(values: np.ndarray) -> bytes:
    np.save(file := io.BytesIO(), values)
    return file.getvalue()


def matrix(name: str, content: bytes, rows: int = 3) -> dict[str, bytes]:
    """Return the parts of a sparse matrix, one of them another."""
    sparse.save_npz(file := io.BytesIO(), sparse.csr_matrix(np.ones((rows, 2))), compressed=False)
    with zipfile.ZipFile(file) as parts:
        return {**{one: parts.read(one) for one in parts.namelist()}, name: content}


CASES: dict[str, Callable[[], dict[str, bytes]]] = {
    **{f"dense, {name}": lambda about=about: dense(header(about)) for name, about in ODD.items()},
    **{f"shape, {name}": lambda about=about: matrix("shape.npy", header(about)) for name, about in ODD.items()},
    **{f"indices, {name}": lambda about=about: matrix("indices.npy", header(about)) for name, about in ODD.items()},
    "dense, a long header": lambda: dense(b"\x93NUMPY\x02\x00\xff\xff\xff\x0f" + bytes(20_000_000)),
    "shape, no numbers": lambda: matrix("shape.npy", saved(np.array([np.nan, np.inf]))),
    "shape, negative": lambda: matrix("shape.npy", saved(np.array([60, -2]))),
    "shape, long": lambda: matrix("shape.npy", saved(np.ones(10**6, dtype=int))),
    "shape, huge": lambda: matrix("shape.npy", saved(np.array([10**12, 10**12]))),
    "parts": lambda: {**matrix("more.npy", saved(np.ones(3))), **{f"{n}.npy": b"" for n in range(50)}},
}


@pytest.mark.parametrize("case", CASES)
def test_features_with_an_odd_header_get_a_sentence(numbers: Task, tmp_path: Path, case: str) -> None:
    with zipfile.ZipFile(file := tmp_path / "test.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as parts:
        for name, content in CASES[case]().items():
            parts.writestr(name, content)
    good = {}
    for role, rows in (("train", len(numbers.fold)), ("validation", len(numbers.ids("validation")))):
        np.savez(tmp_path / f"{role}.npz", x=np.ones((rows, 2)))
        good[role] = tmp_path / f"{role}.npz"
    with in_a_sentence():
        write_fit_rows(numbers.view, numbers.folds, {**good, "test": file}, tmp_path)


@pytest.mark.parametrize("name", ["format.npy", "x.npy", "x"])
def test_features_that_could_be_read_as_others_are_refused(numbers: Task, tmp_path: Path, name: str) -> None:
    files = {role: tmp_path / f"{role}.npz" for role in ("train", "validation", "test")}
    sizes = {"train": len(numbers.fold), "validation": len(numbers.ids("validation")), "test": len(numbers.ids("test"))}
    for role, rows in sizes.items():
        np.savez(files[role], x=np.ones((rows, 2)))
    write_fit_rows(numbers.view, numbers.folds, files, tmp_path)
    values = saved(np.ones((sizes["test"], 2)))
    part = values if name == "x.npy" else bytes(5_000)
    parts = dense(values) | {"x": part} if name == "x" else matrix(name, part, sizes["test"])
    with zipfile.ZipFile(files["test"], "w") as file:
        for part_name, content in parts.items():
            file.writestr(part_name, content)
    with in_a_sentence():
        write_fit_rows(numbers.view, numbers.folds, files, tmp_path)


def test_features_that_are_too_large_once_they_are_unpacked_are_refused(
    numbers: Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.evaluation.experiments.fit_rows._MOST_BYTES", 50_000)
    np.savez_compressed(file := tmp_path / "test.npz", x=np.zeros((50, 200)))
    with in_a_sentence():
        write_fit_rows(numbers.view, numbers.folds, dict.fromkeys(("train", "validation", "test"), file), tmp_path)


@pytest.mark.parametrize("form", ["csr", "csc", "bsr"])
@pytest.mark.parametrize("ends", [[0, 100_000], [0, -100_000]])
def test_a_sparse_matrix_with_places_beyond_itself_is_not_copied(
    numbers: Task, tmp_path: Path, form: str, ends: list[int]
) -> None:
    rows, validation_rows = len(numbers.fold), len(numbers.ids("validation"))
    width = rows if form == "csc" else 2
    matrix = sparse.eye_array(rows, width, format=form)
    matrix.indptr[:2] = ends
    sparse.save_npz(tmp_path / "train.npz", matrix)
    sparse.save_npz(tmp_path / "validation.npz", sparse.eye_array(validation_rows, width, format=form))
    features = {role: tmp_path / f"{role}.npz" for role in ("train", "validation")}
    (out := tmp_path / "out").mkdir()
    with in_a_sentence():
        write_all_fit_rows(numbers.view, numbers.folds, numbers.view, features, out)


def test_a_file_of_features_that_is_damaged_gets_a_sentence(numbers: Task, tmp_path: Path) -> None:
    sizes = {"train": len(numbers.fold), "validation": len(numbers.ids("validation")), "test": len(numbers.ids("test"))}
    for role, rows in sizes.items():
        np.savez_compressed(tmp_path / f"{role}.npz", x=np.ones((rows, 2)))
    files = {role: tmp_path / f"{role}.npz" for role in sizes}
    assert write_fit_rows(numbers.view, numbers.folds, files, tmp_path).rows == sizes["train"]
    whole = files["test"].read_bytes()
    # Its method of packing, its flag for a password, what is packed, and where the directory begins.
    directory = whole.index(b"PK\x01\x02")
    for place, byte in ((directory + 10, 99), (directory + 8, 1), (70, whole[70] ^ 255), (len(whole) - 5, 255)):
        files["test"].write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
        with in_a_sentence():
            write_fit_rows(numbers.view, numbers.folds, files, tmp_path)
