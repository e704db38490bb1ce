"""Files of rows that are left out of a view, and those that replace the test's."""

import shutil
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bot.evaluation.layouts.data_files import archive_names, data_files
from bot.evaluation.layouts.file_index import FileTable
from bot.evaluation.layouts.layout import Layout
from bot.evaluation.tables.compression import member
from bot.evaluation.views.row_files import Pattern, path_of, row_files
from scrapers.snapshots.archives import is_litter
from scrapers.snapshots.linking import link_or_copy
from state.errors import UnsupportedLayout


@dataclass(frozen=True)
class ReplacedFiles:
    """Files and members of archives that are left out, and those that are put somewhere else."""

    files: set[Path] = field(default_factory=set)
    members: dict[Path, set[str]] = field(default_factory=lambda: defaultdict(set))
    """By archive."""
    added: list[tuple[Pattern, str, Pattern, str]] = field(default_factory=list)
    """Of each: the pattern and path that it gets, and those that it has."""

    def leave_out(self, pattern: Pattern, path: str) -> None:
        """Leave out one file."""
        if pattern.archive is None:
            self.files.add(Path(path))
        else:
            self.members[pattern.archive].add(path)

    @property
    def archives(self) -> frozenset[Path]:
        """The archives that are to be written anew."""
        return frozenset(self.members) | {p.archive for p, _, _, _ in self.added if p.archive is not None}


def replaced_files(
    data_dir: Path, layout: Layout, withheld: Sequence[int], validation: Sequence[int] | None
) -> ReplacedFiles:
    """Decide what happens to files of rows.

    Of withheld rows files of labels, such as masks, are left out. Where `validation` rows stand in for the test, their files take
    the places of the test's, and those of all other withheld rows are left out.

    Raises UnsupportedLayout: files that must be moved lie in an archive that the view does not rewrite.
    """
    replaced, ids = ReplacedFiles(), layout.ids
    is_moved = isinstance(layout.train, FileTable) and layout.train.moved_to is not None
    # Files that are moved have ids of ours, which mean nothing in the names that they had.
    kept_files = row_files(data_dir, () if is_moved else ids, layout.test_units())
    for pattern in kept_files.label_patterns:
        for row in withheld:
            if ids[row] in kept_files.train[pattern]:
                replaced.leave_out(pattern, kept_files.train[pattern][ids[row]])
    if isinstance(layout.train, FileTable):
        _leave_out_copies(data_dir, layout.train, withheld, replaced)
    if validation is None:
        return replaced
    for pattern, files in kept_files.test.items():
        trained = set(kept_files.train.get(pattern, {}).values())
        for path in files.values():
            if path not in trained:
                replaced.leave_out(pattern, path)
    for pattern, test_pattern in kept_files.counterparts.items():
        files = kept_files.train[pattern]
        stay = {ids[row] for row in validation} if pattern == test_pattern else set()
        for row in withheld:
            if ids[row] in files and ids[row] not in stay:
                replaced.leave_out(pattern, files[ids[row]])
        if pattern != test_pattern:
            for row in validation:
                if ids[row] in files:
                    replaced.added.append((test_pattern, path_of(test_pattern, ids[row]), pattern, files[ids[row]]))
    if any(not zipfile.is_zipfile(data_dir / path) for path in replaced.archives):
        raise UnsupportedLayout("The rows' files are in an archive other than a zip file, so they cannot be replaced.")
    return replaced


def _leave_out_copies(data_dir: Path, table: FileTable, withheld: Sequence[int], replaced: ReplacedFiles) -> None:
    """Leave out whatever else is named as a withheld file is: it may lie in a folder of its class again."""
    names = table.moved_names(withheld)
    if not names:
        return
    row_paths = {entry.file for entry in table.entries}
    for path in data_files(data_dir):
        for inner in archive_names(data_dir / path) or ():
            if Path(inner).name in names or Path(inner).stem in names:
                replaced.members[path].add(inner)
        if path not in row_paths and (path.name in names or path.stem in names):
            replaced.files.add(path)


def test_place(data_dir: Path, layout: Layout) -> Pattern:
    """Return where the test's files lie: the pattern of most of them."""
    test_files = row_files(data_dir, (), layout.test_units()).test
    plain = {pattern: files for pattern, files in test_files.items() if pattern.archive is None}
    return max(plain, key=lambda p: (len(plain[p]), str(p)), default=Pattern(None, "test/{id}"))


def rewrite_archive(data_dir: Path, archive: Path, changes: ReplacedFiles, out: Path) -> str:
    """Write a zip archive without what is left out and with what is added; return a note on it."""
    members = changes.members.get(archive, set())
    if not zipfile.is_zipfile(data_dir / archive):
        return f"{archive.name} left out: it contains files that belong to withheld rows"
    target = out / archive
    target.parent.mkdir(parents=True, exist_ok=True)
    count = 0
    with zipfile.ZipFile(data_dir / archive) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            # What a Mac adds has the names of files that may be withheld, in the folders they lay in.
            if info.is_dir() or info.filename in members or is_litter(info.filename):
                continue
            is_compressed = info.compress_type != zipfile.ZIP_STORED
            with (
                old.open(info) as source,
                new.open(member(info.filename, packed=is_compressed), "w", force_zip64=True) as copy,
            ):
                shutil.copyfileobj(source, copy)
        for path, content in _contents(data_dir, changes, archive):
            new.writestr(member(path, packed=False), content)
            count += 1
    return f"{archive.name}: {len(members)} files removed" + (f", {count} added" if count else "")


def put_added(data_dir: Path, changes: ReplacedFiles, out: Path) -> None:
    """Put what is added into its folders."""
    for target, path, origin, source in changes.added:
        if target.archive is None and origin.archive is None:
            link_or_copy(data_dir / source, out / path)
    for path, content in _contents(data_dir, changes, None):
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(content)


def _contents(data_dir: Path, changes: ReplacedFiles, archive: Path | None) -> Iterator[tuple[str, bytes]]:
    """Yield what goes into an archive; or, for None, what comes out of one into folders."""
    archives: dict[Path, zipfile.ZipFile] = {}
    try:
        for target, path, origin, source in changes.added:
            if target.archive != archive or (archive is None and origin.archive is None):
                continue
            if origin.archive is None:
                yield path, (data_dir / source).read_bytes()
                continue
            if origin.archive not in archives:
                archives[origin.archive] = zipfile.ZipFile(data_dir / origin.archive)
            yield path, archives[origin.archive].read(source)
    finally:
        for open_archive in archives.values():
            open_archive.close()
