"""What a portfolio fit learns from: the labels of a lab's training rows as numbers, and their folds."""

import csv
import json
import math
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.experiments import FitRows, TargetKind
from bot.evaluation.experiments.array_file import UNREADABLE, Header, read_header, shown_shape
from bot.evaluation.experiments.scoring_data import validation_rows
from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.metrics.registry import METRICS, prediction_kind
from bot.evaluation.metrics.same_labels import canonical_label
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.folds import read_classes
from state.errors import InvalidSubmission

_MOST_CLASSES = 500
_MOST_BYTES = 512_000_000
"""Of one array of features, once it is unpacked."""
_MOST_PARTS, _MOST_FORMAT_BYTES = 10, 1_000


def write_fit_rows(view: LabelledView, folds: LabelledView, features: Mapping[str, Path], out: Path) -> FitRows:
    """Check features by their shapes, and write what the portfolio learns them by, a row for each training row.

    These are `target.npy`, `folds.npy` and, for folds that go forward, `order.npy`. Features are `.npz` files by the rows that
    they are of: `train`, `validation` and `test`.

    Raises:
        InvalidSubmission: the features are not of these rows, or the labels are none that the portfolio learns; the text is one
            sentence.
    """
    card, layout = view.card, read_layout(view.data, view.card)
    row_lists = [list(layout.prediction_rows(row)) if layout.has_label(row) else [] for row in range(len(layout.ids))]
    if any(len(rows) != 1 for rows in row_lists):
        raise InvalidSubmission("The portfolio needs one label per row; some rows here have several or none.")
    cells = [rows[0].truth for rows in row_lists]
    kind, classes = _kind(cells, card.metric.name, prediction_kind(card), folds.data)
    np.save(out / "target.npy", _target(cells, kind, classes))
    with (folds.data / "folds.csv").open(encoding="utf-8", newline="") as file:
        numbers = np.array([int(row["fold"]) for row in csv.DictReader(file)], dtype=np.int64)
    np.save(out / "folds.npy", numbers)
    rows = {
        "train": len(numbers),
        "validation": validation_rows(view),
        "test": validation_rows(view, "sample_submission.csv"),
    }
    _check_features({role: _shape(role, features[role]) for role in rows}, rows)
    fold_kind = json.loads((folds.data / "folds.json").read_text(encoding="utf-8"))["kind"]
    if fold_kind == "forward":
        np.save(out / "order.npy", numbers)
    return FitRows(kind, len(classes), fold_kind, len(numbers))


def write_all_fit_rows(
    view: LabelledView, folds: LabelledView, sealed: LabelledView, features: Mapping[str, Path], out: Path
) -> FitRows:
    """Write what `write_fit_rows` does for the rows of the view `sealed`, and their `features/`.

    `features`, which were checked before, are of the rows of `view`; `folds` are those of the view `sealed`.

    Raises InvalidSubmission: rows cannot be told apart by their ids.
    """
    columns = view.card.row_columns
    ids = [*read_layout(view.data, view.card).ids, *read_table(view.data / "sample_validation.csv").keys(columns)]
    place = {id: row for row, id in enumerate(ids)}
    sealed_ids = {
        "train": read_layout(sealed.data, view.card).ids,
        "validation": read_table(sealed.data / "sample_validation.csv").keys(columns),
    }
    if len(place) < len(ids) or not place.keys() >= {*sealed_ids["train"], *sealed_ids["validation"]}:
        raise InvalidSubmission("The ids of the labelled rows are not unique.")
    (out / "features").mkdir()
    sealed_features = {role: out / f"features/{role}.npz" for role in features}
    for role, row_ids in sealed_ids.items():
        _write_rows([features["train"], features["validation"]], [place[id] for id in row_ids], sealed_features[role])
    shutil.copyfile(features["test"], sealed_features["test"])
    return write_fit_rows(sealed, folds, sealed_features, out)


def _write_rows(parts: Sequence[Path], rows: Sequence[int], out: Path) -> None:
    """Write these rows of features that lie one after the other in several files."""
    with zipfile.ZipFile(parts[0]) as file:
        is_sparse = "shape.npy" in file.namelist()
    if is_sparse:
        sparse.save_npz(out, sparse.vstack(list(map(_sparse, parts)), "csr")[list(rows)])
    else:
        np.savez(out, x=np.concatenate([np.load(part)["x"] for part in parts])[list(rows)])


def _sparse(path: Path) -> Any:
    """Return a sparse matrix whose places are all within it: SciPy believes them, and goes beyond its memory.

    Raises InvalidSubmission: the file is no such matrix.
    """
    try:
        matrix = sparse.load_npz(path)
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format()
    except UNREADABLE as error:
        raise InvalidSubmission(f"{path.stem} is an invalid sparse matrix: its parts do not match.") from error
    return matrix


def _shape(role: str, path: Path) -> tuple[int, ...]:
    """Return the shape of features, dense under the name `x` or as scipy writes a sparse matrix, without reading them."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
            arrays = {name.removesuffix(".npy") for name in names}
            if len(arrays) < len(names) or {"x", "shape"} <= arrays:
                raise InvalidSubmission(f"{role} has two arrays with the same name, or both `x` and a sparse matrix.")
            if "shape.npy" not in names:
                return _header(role, file, "x.npy").shape
            if len(names) > _MOST_PARTS:
                raise InvalidSubmission(f"{role} has {len(names)} arrays; a sparse matrix has at most {_MOST_PARTS}.")
            for name in names:
                if name != "format.npy":
                    _header(role, file, name)
                elif file.getinfo(name).file_size > _MOST_FORMAT_BYTES:
                    raise InvalidSubmission(f"{role} is a sparse matrix with an invalid format name.")
            with file.open("shape.npy") as shape:
                return tuple(map(int, np.lib.format.read_array(shape, allow_pickle=False)[:3]))
    except UNREADABLE:
        raise InvalidSubmission(f"{role} must be an .npz file that holds `x`, or one from sparse.save_npz.") from None


def _header(role: str, file: zipfile.ZipFile, name: str) -> Header:
    """Return what an array's header claims, if its values are there."""
    entry = file.getinfo(name)
    if entry.file_size > _MOST_BYTES:
        raise InvalidSubmission(f"{role} has an array of {entry.file_size:,} bytes; the limit is {_MOST_BYTES:,}.")
    with file.open(entry) as member:
        header = read_header(member, role, _MOST_BYTES)
    if entry.file_size != header.begins + math.prod(header.shape) * header.dtype.itemsize:
        raise InvalidSubmission(f"{role} has an array whose size does not match its shape {shown_shape(header.shape)}.")
    return header


def _check_features(shapes: Mapping[str, tuple[int, ...]], rows: Mapping[str, int]) -> None:
    for role, shape in shapes.items():
        if len(shape) != 2 or shape[0] != rows[role] or shape[1:] != shapes["train"][1:] or shape[1] < 1:
            columns = f"{shapes['train'][1]:,}" if len(shapes["train"]) == 2 else "columns"
            raise InvalidSubmission(
                f"{role} has the shape {shown_shape(shape)}; expected: ({rows[role]:,}, {columns})."
            )


def _kind(cells: list[tuple[str, ...]], metric: str, predictions: str, folds: Path) -> tuple[TargetKind, list[str]]:
    """Return the kind of a target, and its classes where there are more than two."""
    known_metric = METRICS.get(metric)
    if predictions == "text":
        raise InvalidSubmission("The portfolio predicts numbers and classes, not text.")
    if predictions == "label":
        if known_metric is not None and "ordinal" in known_metric.spaces:
            return "ordered", []
        classes = read_classes(folds)
        if len(cells[0]) != 1 or not 2 <= len(classes) <= _MOST_CLASSES:
            raise InvalidSubmission(f"The portfolio can learn only one label column with 2 to {_MOST_CLASSES} classes.")
        return "multiclass", classes
    values = np.array(cells, dtype=float)
    if not np.isin(values, (0, 1)).all() or known_metric is None or not known_metric.of_classes:
        return "number", []
    if values.shape[1] == 1:
        return "binary", []
    return (
        ("multiclass", [str(column) for column in range(values.shape[1])])
        if (values.sum(axis=1) == 1).all()
        else ("multilabel", [])
    )


def _target(cells: list[tuple[str, ...]], kind: str, classes: list[str]) -> NDArray[Any]:
    if kind == "multiclass" and len(cells[0]) == 1:
        place = {canonical_label(label): class_number for class_number, label in enumerate(classes)}
        return np.array([place[canonical_label(row[0])] for row in cells], dtype=np.int64)
    values: NDArray[Any] = np.array(cells, dtype=float)
    if kind == "multiclass":
        values = values.argmax(axis=1)
        return values
    return values[:, 0] if values.shape[1] == 1 else values
