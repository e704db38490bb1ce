"""Reads arrays that a lab sent: NumPy's format without pickles, what its header claims checked before any data is read."""

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from state.errors import InvalidSubmission

MOST_VALUES = 1 << 26
"""Of one array."""
_WIDEST = 8
"""Bytes of a value."""
_MOST_SIDES = 3
_LONGEST_SIDE = 10**18
_HEADER_BYTES = 1 << 16
"""Read of a file at the most for its header: NumPy takes less, but believes whatever length it claims."""
UNREADABLE = (
    *(OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError, MemoryError),
    *(tokenize.TokenError, RecursionError, RuntimeError, NotImplementedError, zipfile.BadZipFile, zlib.error),
)
"""What NumPy and zipfile raise over files that are not theirs."""


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

    Raises InvalidSubmission: it is none, or one of something else; the text is a sentence.
    """
    with path.open("rb") as file:
        header = read_header(file, name)
        check(header.shape)
        file.seek(0, 2)
        expected = math.prod(header.shape) * header.dtype.itemsize
        if file.tell() - header.begins != expected:
            raise InvalidSubmission(
                f"{name} has {file.tell() - header.begins:,} bytes of values, but the shape in its header, "
                f"{shown_shape(header.shape)}, requires {expected:,}: save it again with numpy.save."
            )
        file.seek(header.begins)
        values: NDArray[Any] = np.fromfile(file, header.dtype)
    return values.reshape(header.shape, order="F" if header.by_column else "C")


def read_header(file: IO[bytes], name: str, most_values: int = MOST_VALUES) -> Header:
    """Return what an array's header claims, of an array that may be read.

    Raises InvalidSubmission: it is none, or the array is of another type, odd or too large; the text is a sentence.
    """
    try:
        begin = io.BytesIO(file.read(_HEADER_BYTES))
        version = npy.read_magic(begin)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, by_column, dtype = read(begin)
    except UNREADABLE as error:
        raise InvalidSubmission(f"{name} is not a file written by numpy.save.") from error
    if dtype.hasobject or dtype.kind not in "fiub" or dtype.itemsize > _WIDEST or dtype.subdtype is not None:
        kind = "objects" if dtype.hasobject else f"{dtype.itemsize}-byte values of kind {dtype.kind!r}"
        raise InvalidSubmission(f"{name} has {kind}; allowed: float16 to float64, integers and booleans.")
    if len(shape) > _MOST_SIDES:
        raise InvalidSubmission(f"{name} has {len(shape)} dimensions; at most {_MOST_SIDES} are allowed.")
    if any(type(side) is not int or side < 0 for side in shape):
        raise InvalidSubmission(f"{name} has an invalid shape: its dimensions must be non-negative integers.")
    if math.prod(max(side, 1) for side in shape) > most_values:  # NumPy refuses long sides beside 0, too
        raise InvalidSubmission(f"{name} has the shape {shown_shape(shape)}; the limit is {most_values:,} values.")
    return Header(shape, dtype, by_column, begin.tell())


def shown_shape(shape: tuple[int, ...]) -> str:
    """Write a shape for a sentence."""
    # Python writes no number of thousands of digits.
    sides = [f"{side:,}" if side <= _LONGEST_SIDE else f"more than {_LONGEST_SIDE:,}" for side in shape]
    return "(" + ", ".join(sides) + ("," if len(shape) == 1 else "") + ")"
