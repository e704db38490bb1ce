"""Reads arrays that a lab sent: NumPy's format without pickles, what its header claims checked before any data is read."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from state.errors import InvalidSubmission

MOST_VALUES = 1 << 26
"""Of one array."""
_WIDEST = 8
"""Bytes of a value."""
_MOST_SIDES = 3


@dataclass(frozen=True)
class Header:
    """What an array's header says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_column: bool
    begins: int
    """Where its values begin in the file, in bytes."""


def read_array(path: Path, name: str, check: Callable[[tuple[int, ...]], None]) -> NDArray[Any]:
    """Return an array of numbers, after `check` has seen its shape and before its values are read.

    Raises:
        InvalidSubmission: it is none, or one of something else; the text is a sentence.
    """
    with path.open("rb") as file:
        header = _header(file, name)
        check(header.shape)
        file.seek(0, 2)
        expected = math.prod(header.shape) * header.dtype.itemsize
        if file.tell() - header.begins != expected:
            raise InvalidSubmission(
                f"{name} has {file.tell() - header.begins:,} bytes of values where the shape {shown_shape(header.shape)} of "
                f"its header takes {expected:,}: write it again with numpy.save."
            )
        file.seek(header.begins)
        values: NDArray[Any] = np.fromfile(file, header.dtype)
    return values.reshape(header.shape, order="F" if header.by_column else "C")


def _header(file: BinaryIO, name: str) -> Header:
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, by_column, dtype = read(file)
    except (ValueError, KeyError, EOFError, OverflowError, MemoryError, RecursionError, TypeError) as error:
        raise InvalidSubmission(f"{name} is no array that numpy.save wrote.") from error
    if dtype.hasobject or dtype.kind not in "fiub" or dtype.itemsize > _WIDEST or dtype.subdtype is not None:
        raise InvalidSubmission(f"{name} has the type {dtype}; float16 to float64, integers and booleans are taken.")
    if any(type(side) is not int or side < 0 for side in shape) or len(shape) > _MOST_SIDES:
        raise InvalidSubmission(f"{name} has {len(shape)} dimensions; at most {_MOST_SIDES} are taken.")
    if math.prod(shape) > MOST_VALUES:
        raise InvalidSubmission(f"{name} has the shape {shown_shape(shape)}; at most {MOST_VALUES:,} values are taken.")
    return Header(shape, dtype, by_column, file.tell())


def shown_shape(shape: tuple[int, ...]) -> str:
    """Write a shape for a sentence."""
    return "(" + ", ".join(f"{side:,}" for side in shape) + ("," if len(shape) == 1 else "") + ")"
