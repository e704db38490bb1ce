"""Masks as run lengths: `start length start length ...`, pixels counted from 1 in one order that both masks share."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_EMPTY = ("", "-")

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Mask:
    """The pixels of a mask: runs that neither touch nor overlap, in order."""

    begins: Places
    ends: Places
    """The first pixel behind each run."""

    @property
    def size(self) -> int:
        """How many pixels it has."""
        return int((self.ends - self.begins).sum())


def read_mask(text: str) -> Mask | None:
    """Read run lengths; runs may overlap and stand in any order, and `-` or nothing is an empty mask.

    Returns:
        None where the text is no list of pairs of whole numbers, a start is less than 0 or a length less than 0.
    """
    stripped = text.strip()
    if stripped in _EMPTY:
        return Mask(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    try:
        numbers = np.array(stripped.split(), dtype=np.int64)
    except (ValueError, OverflowError):
        return None
    if "_" in stripped:  # which numpy takes, as Python does
        return None
    starts, lengths = numbers[::2], numbers[1::2]
    if len(starts) != len(lengths) or (numbers < 0).any() or (numbers > 1 << 60).any():
        return None
    return _merged(starts[lengths > 0], lengths[lengths > 0])


def overlap(left: Mask, right: Mask) -> int:
    """Return how many pixels both have."""
    return int((_before(right, left.ends) - _before(right, left.begins)).sum())


def _before(mask: Mask, places: Places) -> Places:
    """Return how many pixels of a mask lie before each place."""
    if len(mask.begins) == 0:
        return np.zeros_like(places)
    sums = np.concatenate([[0], np.cumsum(mask.ends - mask.begins)])
    run = np.searchsorted(mask.begins, places, side="right") - 1
    within = np.minimum(places, mask.ends[run]) - mask.begins[run]
    return np.where(run >= 0, sums[run] + within, 0)


def _merged(starts: Places, lengths: Places) -> Mask:
    order = np.argsort(starts, kind="stable")
    begins, ends = starts[order], (starts + lengths)[order]
    if len(begins) == 0:
        return Mask(begins, ends)
    reached = np.maximum.accumulate(ends)
    new = np.concatenate([[True], begins[1:] > reached[:-1]])
    last = np.concatenate([np.flatnonzero(new)[1:] - 1, [len(begins) - 1]])
    return Mask(begins[new], reached[last])
