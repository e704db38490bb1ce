"""Which training rows are alike, as copies or of one group, and what share of the test rows is like training rows."""

import hashlib
import re
import zipfile
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.evaluation.layouts.file_index import FileTable, fingerprint
from bot.evaluation.layouts.layout import NO_LABEL, Layout
from bot.evaluation.tables.csv_table import Rows
from bot.evaluation.views.groups import shared_group_column
from bot.evaluation.views.row_files import Pattern, row_files

DISTINCT = 0.5
"""Share of rows that are unlike all others, below which equal rows are no copies: the columns are too coarse."""
_PROBE = 200
_WORDS = 3
"""Words of letters that a cell has on average from which a column holds texts."""
_WORD = re.compile(r"\w+")

Key = Hashable | None
_Places = Mapping[str, Sequence[tuple[Pattern, str]]]
"""Where the files of each row lie, by its id."""


@dataclass(frozen=True)
class RowSimilarity:
    """One way in which rows are alike: those of one key are, and a row with the key None is like no other."""

    kind: str
    """What rows like a training row do: `repeat a training row`."""
    keys: Sequence[Key]
    """By training row."""
    in_test: float | None
    """Share of the test rows that are like a training row; None: unknown."""
    test_rows: int
    """Those that have a key."""


def likenesses(layout: Layout) -> list[RowSimilarity]:
    """Return the ways in which training rows may be alike: equal features, files of equal bytes, one shared group.

    Features are equal if their cells are, of texts of several words if their words are, in whatever case. Files are compared
    in folders, by their size, beginning and end, and in zip archives.
    """
    similarities = [_features(layout), _files(layout), _shared_group(layout)]
    return [similarity for similarity in similarities if similarity is not None]


def feature_columns(layout: Layout) -> list[str]:
    """Return the columns, those that make up the id not among them, that training rows and rows to predict have."""
    without = {layout.card.id_column, *layout.id_parts, *layout.withheld_columns, *layout.card.key_columns}
    shared = layout.train.header if layout.test is None else [c for c in layout.train.header if c in layout.test.header]
    return [column for column in shared if column not in without]


def _likeness(kind: str, train: Sequence[Key], test: Iterable[Key]) -> RowSimilarity | None:
    seen_keys = {key for key in train if key is not None}
    if len(seen_keys) < DISTINCT * len(train):
        return None
    keys = [key for key in test if key is not None]
    return RowSimilarity(kind, train, sum(key in seen_keys for key in keys) / len(keys) if keys else None, len(keys))


def _features(layout: Layout) -> RowSimilarity | None:
    columns = feature_columns(layout)
    if isinstance(layout.train, FileTable) or not columns:
        return None
    heads = layout.train.heads(columns, _PROBE)
    words = {name: sum(word.isalpha() for cell in cells for word in cell.split()) for name, cells in heads.items()}
    texts = frozenset(name for name, cells in heads.items() if words[name] >= _WORDS * max(1, len(cells)))
    test = () if layout.test is None else _row_keys(layout.test, columns, texts)
    return _likeness("repeat a training row", list(_row_keys(layout.train, columns, texts)), test)


def _row_keys(table: Rows, columns: Sequence[str], texts: frozenset[str]) -> Iterator[Key]:
    places = [table.header.index(name) for name in columns]
    worded = [n for n, name in enumerate(columns) if name in texts]
    for row in table.rows():
        cells = [row[place].strip() for place in places]
        for place in worded:
            cells[place] = " ".join(_WORD.findall(cells[place].casefold())) or cells[place]
        joined = "\0".join(cells).encode("utf-8", "surrogatepass")
        yield hashlib.blake2b(joined, digest_size=8).digest() if any(cells) else None


def _files(layout: Layout) -> RowSimilarity | None:
    data_dir, tested = layout.sample.path.parent, layout.test_units()
    if isinstance(layout.train, FileTable):
        index_pattern = Pattern(None, "")
        train: _Places = {entry.id: [(index_pattern, entry.file.as_posix())] for entry in layout.train.entries}
        test = _by_id(row_files(data_dir, (), tested).test)
    else:
        files = row_files(data_dir, layout.ids, tested)
        # Files that test rows lack are labels: two empty masks make no copies.
        train = _by_id({pattern: files.train[pattern] for pattern in files.counterparts})
        test = _by_id({pattern: files.test[pattern] for pattern in files.counterparts.values()})
    if not train:
        return None
    stamps = _stamps(data_dir, [place for side in (train, test) for places in side.values() for place in places])
    keys, test_keys = (
        {id: tuple(stamps[place] for place in places) for id, places in side.items() if stamps.keys() >= set(places)}
        for side in (train, test)
    )
    return _likeness("have the same file as a training row", [keys.get(id) for id in layout.ids], test_keys.values())


def _by_id(files_by_pattern: Mapping[Pattern, Mapping[str, str]]) -> _Places:
    places: dict[str, list[tuple[Pattern, str]]] = {}
    for pattern in sorted(files_by_pattern, key=str):
        for id, path in files_by_pattern[pattern].items():
            places.setdefault(id, []).append((pattern, path))
    return places


def _stamps(data_dir: Path, places: Sequence[tuple[Pattern, str]]) -> dict[tuple[Pattern, str], Key]:
    """Return what files of equal bytes have in common; files that are alone with their size are not read."""
    stamps: dict[tuple[Pattern, str], Key] = {}
    members: dict[Path, Mapping[str, Key]] = {}
    sizes: dict[int, list[tuple[Pattern, str]]] = {}
    for place in places:
        pattern, path = place
        if pattern.archive is None:
            sizes.setdefault((data_dir / path).stat().st_size, []).append(place)
        elif pattern.archive.suffix.lower() == ".zip":
            if pattern.archive not in members:
                with zipfile.ZipFile(data_dir / pattern.archive) as archive:
                    members[pattern.archive] = {m.filename: (m.file_size, m.CRC) for m in archive.infolist()}
            stamps[place] = members[pattern.archive][path]
    for size, paths in sizes.items():
        stamps |= {place: fingerprint(data_dir / place[1]) if len(paths) > 1 else size for place in paths}
    return stamps


def _shared_group(layout: Layout) -> RowSimilarity | None:
    if layout.test is None:
        return None
    shared_group = shared_group_column(layout.train, layout.test, feature_columns(layout))
    if shared_group is None:
        return None
    column, share, rows = shared_group
    cells = layout.train.column(column)
    keys = [None if cell.strip().lower() in NO_LABEL else cell for cell in cells]
    return RowSimilarity(f"share their {column!r} with training rows", keys, share, rows)
