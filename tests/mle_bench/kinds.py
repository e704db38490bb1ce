"""What a submission's cells may be: how true ones are drawn, and how they are spoiled."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

Cells = tuple[object, ...]


@dataclass(frozen=True)
class Kind:
    """One prediction column, or several that belong together."""

    truth: Callable[[Random], Cells]
    """Draws a row's true cells, as the answers have them."""
    noisy: Callable[[Random, Cells], Cells]
    """Makes a prediction of them that may be wrong."""
    sample: Cells
    predicted: Callable[[Cells], Cells] = lambda cells: cells
    """The true cells as a submission has them."""


def one(truth: Callable[[Random], object], noisy: Callable[[Random, object], object], sample: object) -> Kind:
    return Kind(lambda rng: (truth(rng),), lambda rng, cells: (noisy(rng, cells[0]),), (sample,))


def chance(sample: object = 0.5) -> Kind:
    """0 or 1, predicted as a probability."""
    return one(
        lambda rng: rng.randint(0, 1), lambda rng, true: round(0.3 * float(true) + 0.7 * rng.random(), 6), sample
    )


def number(low: float, high: float, digits: int = 4, spread: float = 0.1) -> Kind:
    def noisy(rng: Random, true: object) -> float:
        value = float(true) + rng.gauss(0, spread * (high - low))
        return round(min(high, max(low, value)), digits)

    return one(lambda rng: round(rng.uniform(low, high), digits), noisy, round((low + high) / 2, digits))


def label(names: Sequence[object]) -> Kind:
    """One of these."""
    return one(rng_choice(names), lambda rng, true: rng.choice(names) if rng.random() < 0.3 else true, names[0])


def rng_choice(names: Sequence[object]) -> Callable[[Random], object]:
    return lambda rng: rng.choice(names)


def one_of(columns: int) -> Kind:
    """One of as many columns is 1; predicted as probabilities that sum to 1."""

    def truth(rng: Random) -> Cells:
        at = rng.randrange(columns)
        return tuple(int(place == at) for place in range(columns))

    def noisy(rng: Random, true: Cells) -> Cells:
        return _shares([float(cell) * 0.5 + rng.random() / columns for cell in true])

    return Kind(truth, noisy, _shares([1.0] * columns))


def votes(columns: int) -> Kind:
    """Counts, predicted as shares that sum to 1."""

    def truth(rng: Random) -> Cells:
        return (*tuple(rng.randint(0, 9) for _ in range(columns - 1)), rng.randint(1, 9))

    def noisy(rng: Random, true: Cells) -> Cells:
        return _shares([float(cell) + rng.random() for cell in true])

    return Kind(truth, noisy, _shares([1.0] * columns), lambda cells: _shares([float(c) for c in cells]))


def _shares(weights: Sequence[float]) -> Cells:
    shares = [round(weight / sum(weights), 9) for weight in weights]
    shares[shares.index(max(shares))] += 1 - sum(shares)
    return tuple(shares)


_WORDS = [
    *("an", "old", "house", "by", "the", "sea", "has", "three", "red", "doors", "and"),
    *("Two", "windows", "where", "nobody", "looks", "out,", "said", "Ann"),
]


def sentence(least: int = 3, most: int = 8) -> Kind:
    def truth(rng: Random) -> object:
        return " ".join(rng.choice(_WORDS) for _ in range(rng.randint(least, most)))

    return one(truth, _respelled, "the house")


def _respelled(rng: Random, true: object) -> object:
    words = str(true).split()
    if len(words) > 1 and rng.random() < 0.5:
        del words[rng.randrange(len(words))]
    if rng.random() < 0.5:
        words[rng.randrange(len(words))] = rng.choice(_WORDS)
    return " ".join(words)


def listed(names: Sequence[str], most: int = 3, *, ranked: bool = False) -> Kind:
    """Some of these with blanks between; or one true one, predicted by a ranked list of several."""

    def truth(rng: Random) -> object:
        return rng.choice(names) if ranked else " ".join(rng.sample(names, rng.randint(1, most)))

    def noisy(rng: Random, true: object) -> object:
        kept = [name for name in str(true).split() if rng.random() < 0.8]
        more = [name for name in rng.sample(names, most) if name not in kept]
        found = kept + more[: most - len(kept)] if ranked or rng.random() < 0.4 or not kept else kept
        rng.shuffle(found)
        return " ".join(found)

    return one(truth, noisy, names[0])


def order(names: Sequence[str]) -> Kind:
    """All of these in some order."""

    def shuffled(rng: Random) -> object:
        return " ".join(rng.sample(names, len(names)))

    def noisy(rng: Random, true: object) -> object:
        found = str(true).split()
        at, to = rng.randrange(len(found)), rng.randrange(len(found))
        found[at], found[to] = found[to], found[at]
        return " ".join(found)

    return one(shuffled, noisy, " ".join(names))


def mask(height: int, width: int, *, empty: str = "", empties: float = 0.2) -> Kind:
    """A rectangle in an image as run lengths down the columns from 1, or nothing."""

    def truth(rng: Random) -> object:
        if rng.random() < empties:
            return empty
        top, left = rng.randrange(height // 2), rng.randrange(width // 2)
        return _runs(height, top, left, rng.randint(2, height // 2), rng.randint(2, width // 2))

    def noisy(rng: Random, true: object) -> object:
        if true == empty or rng.random() < 0.1:
            return truth(rng)
        starts, lengths = str(true).split()[::2], str(true).split()[1::2]
        kept = len(starts) - rng.randint(0, len(starts) // 2)
        return " ".join(f"{start} {length}" for start, length in list(zip(starts, lengths, strict=True))[:kept])

    return one(truth, noisy, "1 3")


def _runs(height: int, top: int, left: int, tall: int, wide: int) -> str:
    return " ".join(f"{(left + column) * height + top + 1} {tall}" for column in range(wide))


def boxes(box: Callable[[Random], str], empty: str = "") -> Kind:
    """Several boxes, each of several cells; a prediction may lack some, and has some that are wrong."""

    def truth(rng: Random) -> object:
        return " ".join(box(rng) for _ in range(rng.randint(1, 3)))

    def noisy(rng: Random, true: object) -> object:
        kept = str(true) if rng.random() < 0.6 else ""
        more = box(rng) if rng.random() < 0.5 else ""
        return f"{kept} {more}".strip() or box(rng)

    return one(truth, noisy, empty)


def angles() -> Kind:
    """Azimuth and zenith."""

    def noisy(rng: Random, true: Cells) -> Cells:
        return tuple(round(float(angle) + rng.gauss(0, 0.2), 5) for angle in true)

    return Kind(
        lambda rng: (round(rng.uniform(0, 2 * math.pi), 5), round(rng.uniform(0, math.pi), 5)), noisy, (1.0, 1.0)
    )


def columns(kind: Kind, many: int) -> Kind:
    """The same in several columns, each by itself."""

    def noisy(rng: Random, cells: Cells) -> Cells:
        return tuple(kind.noisy(rng, (cell,))[0] for cell in cells)

    return Kind(lambda rng: tuple(kind.truth(rng)[0] for _ in range(many)), noisy, kind.sample * many)
