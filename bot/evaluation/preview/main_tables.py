"""The tables of a data folder as a preview reads them: which hold the training rows and those to predict, and their columns."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bot.evaluation.layouts.data_files import data_files
from bot.evaluation.layouts.locate_tables import find_training_tables, read_any, table_kind
from bot.evaluation.preview.profile import Column, profile
from bot.evaluation.tables.csv_table import Rows
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout

TABLES = frozenset({".csv", ".tsv"})
_LARGEST_OTHER = 64 * 1024**2
"""Bytes of a table that has to be read as a whole for its columns (records), or unpacked."""
_MAX_TABLES = 12
MOST_IDS = 100_000
_FIRST = ("train", "validation", "test", "sample_validation", "sample_submission")


@dataclass(frozen=True)
class MainTables:
    """The tables that can be read, by their path below the folder."""

    tables: Mapping[str, Rows]
    train: str | None
    """Where the training rows are."""
    test_tables: tuple[str, ...]
    """Where rows to predict are: those to validate on, then the test's."""
    target_columns: tuple[str, ...]
    """Training columns that rows to predict lack; without a table of those rows, all but the key columns."""
    _profiles: dict[str, tuple[list[Column], bool]] = field(default_factory=dict)

    def _profile(self, name: str) -> tuple[list[Column], bool]:
        if name not in self._profiles:
            self._profiles[name] = profile(self.tables[name])
        return self._profiles[name]

    def columns(self, name: str) -> list[Column]:
        """Return a table's columns, by its first rows. Raises UnsupportedLayout where one cannot be read."""
        return self._profile(name)[0]

    def is_whole(self, name: str) -> bool:
        """Return whether all of a table's rows were read for its columns; raises as of `columns`."""
        return self._profile(name)[1]

    def read_rows(self, name: str) -> str:
        """Say how many rows these are; raises as of `columns`."""
        rows = self.columns(name)[0].rows
        return f"its {rows:,} rows" if self.is_whole(name) else f"the first {rows:,} rows"

    def ids(self, name: str, id_column: str) -> Sequence[str]:
        """Return what a table calls its first `MOST_IDS` rows; nothing where it has no such column, or cannot be read."""
        if id_column not in self.tables[name].header:
            return ()
        with suppress(UnsupportedLayout):
            return self.tables[name].heads([id_column], MOST_IDS)[id_column]
        return ()


def main_tables(data_dir: Path, card: TaskCard) -> MainTables:
    """Open a folder's tables, the main ones first; of very many the rest is left out."""
    tables: dict[str, Rows] = {}
    for path in sorted(data_files(data_dir), key=lambda path: (_rank(path), path)):
        text = path.suffix.lower() in TABLES
        is_small_other = not text and len(path.parts) == 1 and (data_dir / path).stat().st_size <= _LARGEST_OTHER
        if len(tables) < _MAX_TABLES and (text or (is_small_other and table_kind(data_dir / path) is not None)):
            try:
                tables[path.as_posix()] = read_any(data_dir / path)
            except UnsupportedLayout:
                continue
    names_by_kind = {kind: [name for name in tables if name.split(".")[0] == kind] for kind in ("validation", "test")}
    test_tables = tuple(
        min(names, key=lambda name: (name not in ("validation.csv", "test.csv"), name))
        for names in names_by_kind.values()
        if names
    )
    training = (path.relative_to(data_dir).as_posix() for path in find_training_tables(data_dir, None))
    train = next((name for name in training if name in tables), None)
    known_columns = {*card.row_columns}.union(*(tables[name].header for name in test_tables))
    missing_columns = () if train is None else tuple(c for c in tables[train].header if c not in known_columns)
    return MainTables(tables, train, test_tables, missing_columns)


def _rank(path: Path) -> int:
    kind = path.name.split(".")[0]
    return _FIRST.index(kind) if kind in _FIRST and len(path.parts) == 1 else len(_FIRST)
