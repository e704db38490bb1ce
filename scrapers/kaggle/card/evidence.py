"""All that is known of a competition before its task card: Kaggle's fields, pages, tables and leaderboard."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrapers.kaggle.competitions import CompetitionPage, KaggleCompetition
from scrapers.snapshots.tables import read_number

_MOST_MORE = 2
"""Further columns of a key."""


@dataclass(frozen=True)
class Sample:
    """The sample submission: its columns and what their cells are like."""

    name: str
    header: tuple[str, ...]
    rows: int
    unique: frozenset[str]
    """Columns whose cells all differ: the first one by all rows, the others by some."""
    numeric: frozenset[str]
    """Columns whose cells are numbers, and no keys by their looks: not whole numbers that differ."""
    key_columns: tuple[str, ...] = ()
    """Where the first column repeats: the others that say with it which row is meant, as far as the first rows show."""

    @classmethod
    def from_rows(
        cls, header: Sequence[str], rows: Sequence[Sequence[str]], name: str = "sample_submission.csv"
    ) -> "Sample":
        """Make one of its cells."""
        columns = list(zip(*rows, strict=True)) if rows else [() for _ in header]
        unique = {column for column, cells in zip(header, columns, strict=True) if len(set(cells)) == len(cells)}
        numeric = {column for column, cells in zip(header, columns, strict=True) if _is_quantity(cells)}
        return cls(name, tuple(header), len(rows), frozenset(unique), frozenset(numeric), _key_beside(header, rows))


@dataclass(frozen=True)
class Tables:
    """What the data files say."""

    sample: Sample | None = None
    train: tuple[str, ...] | None = None
    """The header of train.csv; None: there is no such table."""
    test: tuple[str, ...] | None = None
    labels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Of the columns of train.csv that may hold classes, which there are; perhaps not all."""
    candidates: tuple[str, ...] = ()
    """Files that may be the sample, where it is not certain which."""


@dataclass(frozen=True)
class Evidence:
    """Everything about one competition; None of `tables` means that its data is not here yet."""

    slug: str
    fields: KaggleCompetition
    pages: tuple[CompetitionPage, ...] = ()
    tables: Tables | None = None
    board: tuple[str, ...] = ()
    """Scores as Kaggle writes them, best first."""

    @property
    def title(self) -> str:
        """The competition's title, else its name."""
        return self.fields.title or self.slug


def _key_beside(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the fewest columns that differ in every row together with the first one; none where that alone does, or none do."""
    for count in range(min(_MOST_MORE, len(header) - 2) + 1):
        for places in itertools.combinations(range(1, len(header)), count):
            if len({(row[0], *(row[place] for place in places)) for row in rows}) == len(rows):
                return tuple(header[place] for place in places)
    return ()


def _is_quantity(cells: Sequence[str]) -> bool:
    """Whether cells may be sample predictions: numbers, all equal or not all whole."""
    numbers = [read_number(cell) for cell in cells]
    if None in numbers:
        return False
    return len(set(numbers)) <= 1 or not all(float(number).is_integer() for number in numbers if number is not None)
