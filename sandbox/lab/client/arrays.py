"""Arrays as files: predictions and features, from whatever holds them in Python."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import Any

from .protocol import FilePart, LabError, file_part

ARRAY_BYTES = 512_000_000
_TOLERANCE = 1e-6
"""Relative change of a number that does not matter."""
_AT_A_TIME = 1 << 20
_MISSING = ("nan", "None", "<NA>", "NaT")


def array_file(role: str, path: str) -> FilePart:
    """Return a file of an array; its suffix says what it is."""
    return file_part(role, role + os.path.splitext(path)[1], path, ARRAY_BYTES)  # noqa: PTH122 - a name, not a path


def predictions(role: str, value: Any) -> FilePart:
    """Return an array of predictions as a file; a table with text is sent as CSV."""
    if isinstance(value, (str, os.PathLike)):
        return array_file(role, os.fspath(value))
    if hasattr(value, "to_csv"):
        frame = value.to_frame() if hasattr(value, "to_frame") else value
        if not all(_is_numeric(frame[column]) for column in frame.columns):
            return _bytes_part(role, ".csv", [frame.to_csv(index=False).encode()])
    if hasattr(value, "tocsr"):
        _check_size(role, value.shape[0] * value.shape[1] * 4)
        value = value.toarray()
    array = _numbers(role, value)
    numpy = _numpy()
    head = io.BytesIO()
    numpy.lib.format.write_array_header_2_0(head, numpy.lib.format.header_data_from_array_1_0(array))
    return _bytes_part(role, ".npy", [head.getvalue(), array.reshape(-1).view(numpy.uint8).data])


def features(tables: dict[str, Any]) -> tuple[list[FilePart], list[str]]:
    """Return features as files, and the names of the columns that were found to hold categories."""
    frames = [hasattr(value, "columns") for value in tables.values()]
    if any(frames):
        if not all(frames):
            raise LabError("train, validation and test must all be data frames, or none of them may be")
        return _frames(tables)
    return [_feature_part(role, value) for role, value in tables.items()], []


def _feature_part(role: str, value: Any, columns: Sequence[str] = ()) -> FilePart:
    """Return features as a file: like scipy.sparse.save_npz if they are sparse, else `x` and, if known, `columns`."""
    if isinstance(value, (str, os.PathLike)):
        return array_file(role, os.fspath(value))
    numpy, file = _numpy(), io.BytesIO()
    if hasattr(value, "tocsr"):
        rows = value.tocsr()
        csr_fields = {"format": b"csr", "shape": rows.shape, "data": _numbers(role, rows.data)}
        numpy.savez(file, **csr_fields, indices=rows.indices, indptr=rows.indptr)
    else:
        numpy.savez(file, x=_numbers(role, value), **({"columns": numpy.array(columns, dtype=str)} if columns else {}))
    return _bytes_part(role, ".npz", [file.getbuffer()])


def _frames(tables: dict[str, Any]) -> tuple[list[FilePart], list[str]]:
    """Return data frames as files, in which the values of a column with text are numbered alike."""
    numpy, train = _numpy(), tables["train"]
    names = [str(column) for column in train.columns]
    category_names, values = [], {role: numpy.empty((len(frame), len(names))) for role, frame in tables.items()}
    for place, column in enumerate(train.columns):
        try:
            columns = {role: frame[column] for role, frame in tables.items()}
        except Exception:  # of whatever kind of frame it is
            raise LabError(f"validation or test has no column {column!r}") from None
        if not all(map(_is_numeric, columns.values())):
            category_names.append(names[place])
            columns = _as_numbers(columns)
        for role, column_values in columns.items():
            values[role][:, place] = _numbers(names[place], column_values)
    return [_feature_part(role, array, names) for role, array in values.items()], category_names


def _as_numbers(columns: dict[str, Any]) -> dict[str, list[float]]:
    """Return columns of texts as numbers, the same for the same text, and NaN for none."""
    texts = {role: [str(value) for value in values] for role, values in columns.items()}
    codes = {text: float(place) for place, text in enumerate(sorted(set().union(*texts.values())))}
    codes.update(dict.fromkeys(_MISSING, float("nan")))
    return {role: [codes[text] for text in values] for role, values in texts.items()}


def _is_numeric(values: Any) -> bool:
    """Return whether a column holds numbers, and is not declared as one of categories."""
    if str(getattr(values, "dtype", "")) == "category":
        return False
    try:
        _numbers("", values)
    except LabError:
        return False
    return True


def _numbers(label: str, value: Any) -> Any:
    """Return an array of numbers in one piece, of four bytes each where that loses nothing that matters."""
    numpy = _numpy()
    try:
        if hasattr(value, "detach"):
            value = value.detach().cpu()
        array = numpy.asarray(value)
        if array.dtype.kind == "O" or (array.dtype.kind == "f" and array.dtype.itemsize > 8):
            array = array.astype(numpy.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise LabError(f"{label} is not an array of numbers: {error}") from None
    if array.dtype.kind not in "biuf":
        raise LabError(f"{label} is an array of {array.dtype}, not of numbers; number the labels as in classes.json")
    _check_size(label, array.size * min(array.dtype.itemsize, 4))
    array = numpy.ascontiguousarray(array)
    return _shortened(array) if array.dtype.itemsize > 4 and array.dtype.kind == "f" else array


def _shortened(array: Any) -> Any:
    """Return an array with four bytes a number, or as it is where that matters: whole numbers stay, and no other becomes one."""
    numpy = _numpy()
    short, flat = numpy.empty(array.shape, numpy.float32), array.reshape(-1)
    for start in range(0, flat.size, _AT_A_TIME):
        was = flat[start : start + _AT_A_TIME]
        with numpy.errstate(all="ignore"):
            now = was.astype(numpy.float32)
            is_near = numpy.abs(now - was) <= _TOLERANCE * numpy.abs(was)
            is_kept = numpy.where(numpy.rint(was) == was, now == was, numpy.rint(now) != now)
        if not (is_near & is_kept | numpy.isnan(was)).all():
            return array
        short.reshape(-1)[start : start + _AT_A_TIME] = now
    return short


def _bytes_part(role: str, suffix: str, content: list[Any]) -> FilePart:
    size = sum(map(len, content))
    _check_size(role, size)
    return FilePart(role, role + suffix, size, content)


def _check_size(label: str, size: int) -> None:
    if size > ARRAY_BYTES:
        raise LabError(f"{label} has {size} bytes; the limit is {ARRAY_BYTES}")


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise LabError("arrays require numpy, which is not installed; pass file paths instead") from None
    return numpy
