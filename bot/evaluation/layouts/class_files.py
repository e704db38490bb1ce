"""Training files in folders by class, or named by class, if no table holds the labels."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bot.evaluation.layouts.data_files import data_files
from bot.evaluation.layouts.file_index import INDEX, FileTable, RowFile, fingerprint, index_header
from bot.evaluation.layouts.layout import TRUTH_VALUES, Layout, match_classes
from bot.evaluation.layouts.locate_tables import default_row
from bot.evaluation.metrics.registry import prediction_kind
from bot.evaluation.tables.csv_table import Rows, Table
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout

_FEWEST = 10
_MOST_CLASSES = 20_000
_WORDS = re.compile(r"[._\-]+")
_TEXT = frozenset({".csv", ".tsv", ".json", ".jsonl", ".md", ".zip", ".gz"})
_FOLDERS = ("validation", "validation_rows")


Classes = Mapping[Path, str]
"""The possible class of each file."""


def files_by_class(data_dir: Path, card: TaskCard, test: Rows | None, sample: Table) -> Layout | None:
    """Read training rows from folders or names of files; None if these are not classes of the task.

    Raises UnsupportedLayout: they may be, but the class to predict is unclear.
    """
    ids = frozenset(sample.column(card.id_column))
    groups: dict[str, list[Path]] = defaultdict(list)
    in_test = set[Path]()
    for path in data_files(data_dir):
        if path.name in ids or path.stem in ids:
            in_test.add(path.parent)
        if path.suffix.lower() not in _TEXT:
            groups[path.suffix.lower()].append(path)
    unclear: UnsupportedLayout | None = None
    for suffix in sorted(groups, key=lambda s: -len(groups[s])):
        paths = [p for p in groups[suffix] if p.parent not in in_test]
        for origin, classes in (*_in_folders(paths), *_in_names(paths)):
            try:
                labels = _labels(classes, card, default_row(sample), sample)
            except UnsupportedLayout as error:
                unclear = unclear or error
                continue
            if labels is not None:
                notes = (f"the labels are {origin}; train.csv is an index of the files",)
                return _layout(
                    data_dir, card, test, sample, {path: labels[name] for path, name in classes.items()}, notes
                )
    if unclear is not None:
        raise unclear
    return None


def _in_folders(paths: Sequence[Path]) -> Iterator[tuple[str, Classes]]:
    """Folders whose folders hold the files, each a class; the one with the most files first, training folders before."""
    classes_below: dict[Path, dict[Path, str]] = defaultdict(dict)
    for path in paths:
        if len(path.parts) > 2 or (len(path.parts) == 2 and path.parent.name.lower() not in ("train", "training")):
            classes_below[path.parent.parent][path] = path.parent.name
    for folder in sorted(classes_below, key=lambda f: ("train" not in f.as_posix().lower(), -len(classes_below[f]), f)):
        yield f"the names of the folders in {folder.as_posix()}/", classes_below[folder]


def _in_names(paths: Sequence[Path]) -> Iterator[tuple[str, Classes]]:
    """The first or the last word of the names in one folder, each a class."""
    folders: dict[Path, list[Path]] = defaultdict(list)
    for path in paths:
        folders[path.parent].append(path)
    for folder in sorted(folders, key=lambda f: ("train" not in f.as_posix().lower(), -len(folders[f]), f)):
        words = {path: _WORDS.split(path.stem) for path in folders[folder]}
        if min(map(len, words.values())) < 2:
            continue
        for place, name in ((0, "first"), (-1, "last")):
            description = f"the {name} word of each file name in {folder.as_posix()}/"
            yield description, {path: words[place] for path, words in words.items()}


def _labels(classes: Classes, card: TaskCard, default: Sequence[str], sample: Table) -> Mapping[str, str] | None:
    """Return the label of each class: its name, where prediction columns or labels are named so, or 0 and 1.

    Raises UnsupportedLayout: there are two classes and one number to predict, and it is unclear which of the classes is 1.
    """
    sizes = Counter(classes.values())
    if len(classes) < _FEWEST or not 2 <= len(sizes) <= min(_MOST_CLASSES, len(classes) // 2):
        return None
    names = {name: name for name in sizes}
    if len(card.prediction_columns) > 1:
        return names if match_classes(set(sizes), card.prediction_columns) else None
    if prediction_kind(card) != "number":
        sample_class = default[sample.header.index(card.prediction_columns[0])]
        return names if sample_class in sizes else None
    numbers = {name: TRUTH_VALUES.get(name.lower(), name) for name in sizes}
    if set(numbers.values()) == {"0", "1"}:
        return numbers
    if len(sizes) != 2:
        return None
    positive = [name for name in sizes if _is_one(name, card)]
    if len(positive) != 1:
        names_in_words = " and ".join(sorted(sizes))
        fault = "it is unclear which of the classes is 1"
        raise UnsupportedLayout(f"The training files seem to belong to the classes {names_in_words}; {fault}.")
    return {name: str(int(name == positive[0])) for name in sizes}


def _is_one(name: str, card: TaskCard) -> bool:
    """Whether a class is the predicted one: the column has its name, or the description holds `1 = dog`."""
    if card.prediction_columns[0].lower() in (name.lower(), f"is_{name.lower()}", f"has_{name.lower()}"):
        return True
    word = re.escape(name.lower())
    pattern = rf"\b1\s*(?:=|:|is|means|for|if)\s*(?:an?\s+|the\s+)?{word}s?\b|\b{word}s?\s*(?:=|:|\(|is|as)\s*1\b"
    return re.search(pattern, card.description.lower()) is not None


def _layout(
    data_dir: Path, card: TaskCard, test: Rows | None, sample: Table, labels: Classes, notes: tuple[str, ...]
) -> Layout:
    # Ordered by content, so that numbers of rows, and random draws of them, reveal nothing about the classes.
    prints = {path: fingerprint(data_dir / path) for path in labels}
    paths = sorted(labels, key=lambda path: (prints[path], path))
    ids = _ids(paths, sample.column(card.id_column))
    column = card.prediction_columns[0] if len(card.prediction_columns) == 1 else "label"
    entries = tuple(RowFile(id, path, labels[path]) for id, path in zip(ids, paths, strict=True))
    moved_to = next(Path(name) for name in _FOLDERS if name == _FOLDERS[-1] or not (data_dir / name).exists())
    table = FileTable(data_dir / INDEX, index_header(card.id_column, column), data_dir, entries, moved_to)
    classes = match_classes(set(labels.values()), card.prediction_columns) if column == "label" else None
    cells = tuple((entry.label,) for entry in entries)
    columns = (column,)
    return Layout(card, table, test, sample, card.id_column, ids, columns, columns, cells, classes, notes=notes)


def _ids(paths: Sequence[Path], sample_ids: Sequence[str]) -> tuple[str, ...]:
    """Return numbers that continue the sample's, in the same format: names of the files might reveal the class."""
    suffix = paths[0].suffix
    numbers = [int(i) for i in sample_ids if i.isdigit() and i.isascii()]
    first = max(numbers, default=0) + 1
    ending = suffix if sample_ids[0].endswith(suffix) else ""
    width = 0 if len(numbers) == len(sample_ids) else len(str(first + len(paths)))
    return tuple(f"{number:0{width}d}{ending}" for number in range(first, first + len(paths)))
