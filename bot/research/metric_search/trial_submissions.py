"""Trial submissions made from the answers, good and bad in various ways, on which different metrics differ."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scrapers.snapshots.tables import read_number

Cells = NDArray[Any]
"""Objects (text), of shape (rows, prediction columns)."""

PERFECT = "perfect"
_FEW_CLASSES = 30
"""Different whole numbers at most that may be classes."""
_SUM_SLACK = 1e-9


@dataclass(frozen=True)
class TrialSubmission:
    """One submission's prediction cells, as they are written into the file."""

    name: str
    cells: Cells

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The cells as numbers; None if any is not a finite one."""
        return numbers(self.cells)


def numbers(cells: Cells) -> NDArray[np.float64] | None:
    """Return cells as numbers; None if any is not a finite one."""
    try:
        values = cells.astype(float)
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def trials(truth: Cells, sample: Cells, rng: np.random.Generator) -> Iterator[TrialSubmission]:
    """Yield trial submissions, the perfect one first; another generator draws others.

    A grader need not accept all of them: its refusals show nothing about the metric. `sample` has the same order of rows.
    """
    yield TrialSubmission(PERFECT, truth)
    values = numbers(truth)
    if values is not None:
        yield from _of_numbers(values, truth, rng)
    yield from _of_classes(truth, rng)
    if values is None:
        yield from _of_texts(truth, rng)
    elif truth.shape[1] == 1 and all(str(cell).isdecimal() for cell in truth.ravel()):
        yield from _of_lists(truth, rng)  # a whole number may be the one label that several are ranked for
    yield TrialSubmission("rows shuffled", truth[rng.permutation(len(truth))])
    yield TrialSubmission("first row repeated in every row", np.repeat(truth[:1], len(truth), axis=0))
    yield TrialSubmission("sample submission", sample)


def _of_numbers(values: NDArray[np.float64], truth: Cells, rng: np.random.Generator) -> Iterator[TrialSubmission]:
    if values.min() >= 0 and values.max() <= 1:
        yield from _probabilities(values, rng)
    yield from _quantities(values, rng)
    if (values == np.round(values)).all():
        spread = max(1.0, float(values.std()))
        shifted = np.round(values + rng.normal(0, spread, values.shape))
        shifted = np.clip(shifted, values.min(), values.max())
        yield TrialSubmission("whole numbers nearby", _edit_cells(shifted, lambda number: str(int(number))))


def _probabilities(values: NDArray[np.float64], rng: np.random.Generator) -> Iterator[TrialSubmission]:
    rows, columns = values.shape
    sums_to_one = columns > 1 and bool(np.all(np.abs(values.sum(axis=1) - 1) < _SUM_SLACK))
    for weight in (0.3, 0.6, 0.85):
        noise = rng.dirichlet(np.ones(columns), rows) if sums_to_one else rng.random(values.shape)
        mixed = (1 - weight) * values + weight * noise
        if sums_to_one:
            mixed /= mixed.sum(axis=1, keepdims=True)
        yield TrialSubmission(f"probabilities with {weight:.0%} noise", _text(mixed))
    if sums_to_one:
        scaled = 0.5 * values + 0.5 * rng.random(values.shape)
        yield TrialSubmission("probabilities that do not sum to one", _text(scaled))
    is_replaced = rng.random(rows) < 0.2
    if not sums_to_one and columns > 1:
        uneven = values.copy()
        uneven[:, 0] = 0.4 * values[:, 0] + 0.6 * rng.random(rows)
        yield TrialSubmission("probabilities with noise in the first column", _text(uneven))
    sure = values.copy()
    sure[is_replaced] = values[rng.permutation(rows)][is_replaced]
    yield TrialSubmission("confident but mostly wrong predictions in a fifth of the rows", _text(sure))


def _quantities(values: NDArray[np.float64], rng: np.random.Generator) -> Iterator[TrialSubmission]:
    scale = values.std(axis=0, keepdims=True)
    scale[scale == 0] = 1.0
    low = 0.0 if values.min() >= 0 else -math.inf
    high = 1.0 if low == 0 and values.max() <= 1 else math.inf

    def within(name: str, predictions: NDArray[np.float64]) -> TrialSubmission:
        return TrialSubmission(name, _text(np.clip(predictions, low, high)))

    for share in (0.1, 0.5, 2.0):
        yield within(f"noise of {share:g} standard deviations", values + share * scale * rng.normal(0, 1, values.shape))
    yield within("heavy-tailed noise", values + 0.3 * scale * rng.standard_t(2, values.shape))
    yield within("multiplicative noise", values * rng.lognormal(0.1, 0.4, values.shape))
    shifted = values + 0.2 * scale * rng.normal(0, 1, values.shape)
    shifted[:, 0] += scale[0, 0] * rng.normal(0.5, 1, len(values))
    yield within("more noise in the first column", shifted)
    far = values + 0.05 * scale * rng.normal(0, 1, values.shape)
    far[rng.integers(len(values))] += 20 * scale[0]
    yield within("one extreme row", far)


def _of_classes(truth: Cells, rng: np.random.Generator) -> Iterator[TrialSubmission]:
    """Whole rows replaced by other rows' answers."""
    for share in (0.1, 0.3, 0.6):
        is_drawn = rng.random(len(truth)) < share
        replaced = truth.copy()
        replaced[is_drawn] = truth[rng.integers(len(truth), size=len(truth))][is_drawn]
        yield TrialSubmission(f"{share:.0%} of the rows replaced with other answers", replaced)
    distinct = sorted(set(truth[:, 0])) if truth.shape[1] == 1 else []
    if 1 < len(distinct) <= _FEW_CLASSES:
        position = {label: place for place, label in enumerate(sorted(distinct, key=_order))}
        labels = sorted(distinct, key=_order)
        steps = rng.choice([0, 0, 1, -1], len(truth))
        neighbours = [
            labels[min(max(position[cell] + step, 0), len(labels) - 1)]
            for cell, step in zip(truth[:, 0], steps, strict=True)
        ]
        yield TrialSubmission("classes adjacent to the true ones", np.array(neighbours, dtype=object).reshape(-1, 1))
        yield TrialSubmission("largest class in every row", np.full(truth.shape, labels[-1], dtype=object))


def _of_texts(truth: Cells, rng: np.random.Generator) -> Iterator[TrialSubmission]:
    """Texts with words left out, added, moved or misspelled; of run lengths, whole pairs."""
    edits: list[tuple[str, Callable[[list[str]], list[str]]]] = [
        ("last word removed", lambda words: words[:-1] or words),
        ("only the first word", lambda words: words[:1]),
        ("first two words swapped", lambda words: [*words[1:2], *words[:1], *words[2:]]),
        ("wrong word added in front", lambda words: ["0", *words]),
        ("half of each text's words", lambda words: words[: max(2, len(words) // 4 * 2)]),
    ]
    pool = _words(truth)
    for name, edit in edits:
        yield TrialSubmission(name, _edit_cells(truth, partial(_edited, edit=edit)))
    yield TrialSubmission("another row's word prepended", _edit_cells(truth, lambda text: f"{rng.choice(pool)} {text}"))
    yield TrialSubmission("another row's word appended", _edit_cells(truth, lambda text: f"{text} {rng.choice(pool)}"))
    yield from _of_lists(truth, rng)
    yield TrialSubmission("one letter removed", _edit_cells(truth, lambda text: _without_letter(text, rng)))
    is_cut = rng.random(len(truth)) < 0.4
    halves = _edit_cells(truth, lambda text: " ".join(text.split()[: max(2, len(text.split()) // 4 * 2)]))
    yield TrialSubmission("some rows cut", np.where(is_cut[:, None], halves, truth))


def _of_lists(truth: Cells, rng: np.random.Generator) -> Iterator[TrialSubmission]:
    for length in (3, 5, 12, 30):
        among = partial(_among, pool=_words(truth), length=length, rng=rng)
        yield TrialSubmission(f"{length} correct and incorrect words in any order", _edit_cells(truth, among))


def _words(truth: Cells) -> list[str]:
    return [word for cell in truth[:2_000].ravel() for word in str(cell).split()] or ["0"]


def _edited(text: str, edit: Callable[[list[str]], list[str]]) -> str:
    return " ".join(edit(text.split()))


def _among(text: str, pool: list[str], length: int, rng: np.random.Generator) -> str:
    """Return a list of that many words, the text's own among others, none of them twice."""
    own_words = text.split()[:length]
    other_words = [word for word in dict.fromkeys(rng.choice(pool, 2 * length)) if word not in own_words]
    words = np.array([*own_words, *other_words[: length - len(own_words)]], dtype=object)
    return " ".join(words[rng.permutation(len(words))])


def _without_letter(text: str, rng: np.random.Generator) -> str:
    place = int(rng.integers(len(text))) if len(text) > 1 else 1
    return text[:place] + text[place + 1 :]


def _edit_cells(cells: NDArray[Any], edit: Callable[[Any], str]) -> Cells:
    edited = np.empty(cells.shape, dtype=object)
    for place, cell in np.ndenumerate(cells):
        edited[place] = edit(cell)
    return edited


def _order(label: str) -> tuple[float, str]:
    value = read_number(label)
    return math.inf if value is None else value, label


def _text(values: NDArray[np.float64]) -> Cells:
    return _edit_cells(values, lambda number: repr(float(number)))
