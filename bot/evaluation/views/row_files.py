"""Files that belong to single rows, by what their paths have in common: which of them test rows lack, and where theirs lie."""

import difflib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.evaluation.layouts.data_files import archive_names, data_files
from bot.evaluation.views.leaking_names import row_of, stem

_SHARE = 0.2
"""A pattern of paths that fewer rows than this have a file of is no pattern."""
_TRAIN = re.compile("train(?:ing)?", re.IGNORECASE)


@dataclass(frozen=True)
class Pattern:
    """Paths that differ in the id alone: `train/{id}.jpg`; `archive` is the file that holds them, if one does."""

    archive: Path | None
    path: str

    def __str__(self) -> str:
        return f"{self.archive.as_posix()}:{self.path}" if self.archive else self.path


@dataclass(frozen=True)
class RowFiles:
    """The patterns of training and of test files, with the path of each row's file."""

    train: Mapping[Pattern, Mapping[str, str]] = field(default_factory=dict)
    test: Mapping[Pattern, Mapping[str, str]] = field(default_factory=dict)

    @property
    def counterparts(self) -> Mapping[Pattern, Pattern]:
        """For patterns of training files that test rows have as well: theirs."""
        as_test = {pattern: _TRAIN.sub("test", str(pattern)).lower() for pattern in self.train}
        pairs = {p: t for p in self.train for t in self.test if as_test[p] == str(t).lower() or p == t}
        for pattern in sorted(self.train.keys() - pairs.keys(), key=str):
            free = [t for t in self.test if t not in pairs.values() and _suffix(t) == _suffix(pattern)]
            if free:
                pairs[pattern] = max(
                    free, key=lambda t: (difflib.SequenceMatcher(None, str(pattern), str(t)).ratio(), str(t))
                )
        return pairs

    @property
    def label_patterns(self) -> tuple[Pattern, ...]:
        """Patterns of training files without a counterpart for test rows: labels, such as masks."""
        pairs = self.counterparts
        return tuple(sorted((p for p in self.train if p not in pairs), key=str)) if pairs else ()


def _suffix(pattern: Pattern) -> str:
    return Path(pattern.path).suffix.lower()


def row_files(data_dir: Path, train_ids: Sequence[str], test_ids: frozenset[str]) -> RowFiles:
    """Find the files and the members of archives that belong to single rows.

    A file whose path names `train` is none of a test row, and the other way round: ids may be equal, and short ones occur
    in many names.
    """
    trained = frozenset(train_ids)
    names = {stem(identifier): identifier for identifier in (*test_ids, *train_ids)}
    sides: tuple[dict[Pattern, dict[str, str]], ...] = (defaultdict(dict), defaultdict(dict))
    for archive, path in _paths(data_dir):
        key = row_of(path, names)
        if key is None:
            continue
        identifier, pattern = names[key], Pattern(archive, _pattern(path, key))
        full_path = f"{archive.as_posix() if archive else ''}/{path}".lower()
        for ids, word, other_word, side in ((trained, "train", "test", 0), (test_ids, "test", "train", 1)):
            if identifier in ids and not (other_word in full_path and word not in full_path):
                sides[side][pattern][identifier] = path
    counts = len(trained), len(test_ids)
    patterns = [
        {pattern: files for pattern, files in side.items() if len(files) >= max(2, _SHARE * count)}
        for side, count in zip(sides, counts, strict=True)
    ]
    return RowFiles(patterns[0], patterns[1])


def _paths(data_dir: Path) -> Iterator[tuple[Path | None, str]]:
    for path in data_files(data_dir):
        members = archive_names(data_dir / path)
        if members is None:
            yield None, path.as_posix()
        else:
            for name in members:
                yield path, name


def _pattern(path: str, key: str) -> str:
    """Replace the last folder or name that begins or ends with an id by its place."""
    parts = path.split("/")
    for level in range(len(parts) - 1, -1, -1):
        if parts[level].startswith(key):
            parts[level] = "{id}" + parts[level][len(key) :]
            return "/".join(parts)
        head, key_found, tail = parts[level].rpartition(key)
        if key_found:
            parts[level] = head + "{id}" + tail
            return "/".join(parts)
    return path


def path_of(pattern: Pattern, identifier: str) -> str:
    """Return the path that a row's file would have."""
    return pattern.path.replace("{id}", stem(identifier))
