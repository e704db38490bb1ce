"""Finds out whether test rows were cut from training rows by time, and which stretches of time are training."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

_STRETCH = 10
"""A training or test stretch holds at least this many distinct times on average, or the split is no split by time."""
_CHANCE = 0.25
"""Changes between training and test must be rarer than this share of what a random split would show."""


def train_stretches(train: Sequence[float], test: Sequence[float]) -> dict[float, int] | None:
    """Return which stretch of training time each training time belongs to, or None if time did not make the split.

    Times of training and test rows are laid on one line. A split by time (the test after the training rows, or
    blocks of each in turn) changes sides rarely; a random one does so all the time.
    """
    train_times, test_times = set(train), set(test)
    if len(train_times) < _STRETCH or not test_times:
        return None
    if min(test_times) >= max(train_times):
        return dict.fromkeys(train_times, 0)
    if train_times & test_times:
        return None
    line = sorted([(time, True) for time in train_times] + [(time, False) for time in test_times])
    changes = sum(earlier[1] != later[1] for earlier, later in pairwise(line))
    share = len(train_times) / len(line)
    by_chance = 2 * share * (1 - share) * len(line)
    if changes > _CHANCE * by_chance or len(line) < _STRETCH * (changes + 1):
        return None
    stretches: dict[float, int] = {}
    stretch, was_train = -1, False
    for time, is_train in line:
        if is_train:
            stretch += not was_train
            stretches[time] = stretch
        was_train = is_train
    return stretches


def longest_reach(train: Sequence[float], test: Sequence[float]) -> float:
    """Return the longest gap from a training time to a test time that follows it; infinite if there is none."""
    known_times = sorted(set(train))
    places = ((time, bisect_right(known_times, time)) for time in set(test))
    return max((time - known_times[place - 1] for time, place in places if place), default=math.inf)


def time_blocks(rows: Sequence[int], times: Sequence[float], blocks: int) -> Iterator[tuple[int, int]]:
    """Yield rows with the number of their block, of about equally many rows each; equal times stay together."""
    per_time, before = Counter(times[row] for row in rows), 0
    block_of: dict[float, int] = {}
    for time in sorted(per_time):
        block_of[time] = before * blocks // len(rows)
        before += per_time[time]
    yield from ((row, block_of[times[row]]) for row in rows)
