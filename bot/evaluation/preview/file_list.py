"""Describes the files of a data folder: sizes, rows, what archives and image folders hold."""

import codecs
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import FileIO
from pathlib import Path, PurePosixPath
from typing import IO, TypeVar

from PIL import Image
from rich.filesize import decimal

from bot.evaluation.layouts.data_files import archive_names, data_files
from bot.evaluation.preview.main_tables import TABLES
from bot.evaluation.preview.profile import clean
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.row_files import Pattern, row_files
from state.errors import UnsupportedLayout

IMAGES = frozenset({".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".gif", ".webp"})
_MAX_LISTED, _EACH_TABLE = 8, 20
"""More files than this of one kind in one folder are summed up, and folders of the same."""
_HALF = 0.5
_LINES = 40
_LOOKED_AT = 3
_IMAGES = 60
"""Images whose heads are read, of one folder or archive."""
_COUNTED_BYTES = 16 * 1024**2
_HEAD = 900
_NO_IMAGE = (OSError, ValueError, zipfile.BadZipFile, Image.DecompressionBombError)

ItemT = TypeVar("ItemT")


def file_lines(data_dir: Path) -> list[str]:
    """Return a line a file; many files of a kind in one folder share a line."""
    lines = []
    for (folder, suffix), paths in sorted(_grouped(data_dir).items()):
        if len(paths) > (_EACH_TABLE if suffix in TABLES else _MAX_LISTED):
            size = sum((data_dir / path).stat().st_size for path in paths)
            files = f"{suffix} files" if suffix else "files without a suffix"
            lines.append(f"{clean(folder)}/: {len(paths):,} {files}, {decimal(size)}, e.g. {_examples(paths)}")
            if suffix in IMAGES:
                lines.append(_images_line([partial(FileIO, data_dir / path) for path in _spread(paths)]))
        else:
            for path in paths:
                rows = f", {_count_rows(data_dir / path)}" if suffix in TABLES else ""
                lines.append(f"{clean(path.as_posix())}: {decimal((data_dir / path).stat().st_size)}{rows}")
    hidden_lines = len(lines) - _LINES
    return lines if hidden_lines <= 0 else [*lines[:_LINES], f"… and {hidden_lines:,} more lines"]


def _grouped(data_dir: Path) -> dict[tuple[str, str], list[Path]]:
    """Group files by folder and suffix; those of very many folders side by side together."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in data_files(data_dir):
        groups.setdefault((path.parent.as_posix(), path.suffix.lower()), []).append(path)
    sibling_folders: dict[tuple[str, str], list[str]] = {}
    for folder, suffix in groups:
        if folder != ".":
            sibling_folders.setdefault((PurePosixPath(folder).parent.as_posix(), suffix), []).append(folder)
    for (parent, suffix), folders in sibling_folders.items():
        if len(folders) > _MAX_LISTED:
            paths = [path for folder in folders for path in groups.pop((folder, suffix))]
            groups[f"{parent}/[{len(folders):,} folders]", suffix] = paths
    return groups


def _count_rows(path: Path) -> str:
    """Return how many rows and columns a table has; of a large one its lines are counted, which is quicker."""
    try:
        table = read_table(path)
        columns = f"{len(table.header):,} column{'s' if len(table.header) != 1 else ''}"
        if path.stat().st_size <= _COUNTED_BYTES:
            return f"{sum(1 for _ in table.rows()):,} rows, {columns}"
    except UnsupportedLayout:
        return "not a plain table"
    with path.open("rb") as file:
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    return f"about {lines - 1:,} rows, {columns}"


def archive_lines(data_dir: Path) -> list[str]:
    """Return what each archive holds: how many members of which kind, images' sizes, the beginning of the first text."""
    lines: list[str] = []
    shows_text = False
    for path in data_files(data_dir):
        names = sorted(archive_names(data_dir / path) or ())
        if not names:
            continue
        kinds = Counter(PurePosixPath(name).suffix.lower() or "without a suffix" for name in names)
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common(5))
        examples = _examples([Path(name) for name in names])
        lines.append(f"{clean(path.as_posix())}: {len(names):,} files ({counts}), e.g. {examples}")
        if not zipfile.is_zipfile(data_dir / path):
            continue
        with zipfile.ZipFile(data_dir / path) as archive:
            readable = [name for name in names if not archive.getinfo(name).flag_bits & 1]
            images = [name for name in readable if PurePosixPath(name).suffix.lower() in IMAGES]
            if images:
                lines.append(_images_line([partial(archive.open, name) for name in _spread(images)]))
            elif readable and not shows_text and (text := _beginning(archive, readable[0])):
                lines += [f"  {clean(readable[0])} begins:", *(f"    {line[:100]}" for line in text.splitlines()[:6])]
                shows_text = True
    return lines


def _beginning(archive: zipfile.ZipFile, name: str) -> str:
    """Return the beginning of a member, nothing if it is no text."""
    with archive.open(name) as file:
        try:
            # The cut may fall inside a character.
            return codecs.getincrementaldecoder("utf-8")().decode(file.read(_HEAD))
        except UnicodeDecodeError:
            return ""


def _spread(items: Sequence[ItemT]) -> list[ItemT]:
    """Return a few of many, from the first to the last."""
    count = min(_IMAGES, len(items))
    return [items[index * (len(items) - 1) // max(1, count - 1)] for index in range(count)]


def _images_line(images: Sequence[Callable[[], IO[bytes]]]) -> str:
    """Say of what sizes and modes images are, by their heads."""
    sizes, modes = Counter[tuple[int, int]](), Counter[str]()
    for open_image in images:
        with suppress(*_NO_IMAGE), open_image() as file, Image.open(file) as image:
            sizes[image.size] += 1
            modes[image.mode] += 1
    if not sizes:
        return f"  none of the {len(images)} files checked is an image"
    widths, heights = zip(*sizes, strict=True)
    common = " × ".join(map(str, sizes.most_common(1)[0][0]))
    extent = f"{min(widths)} to {max(widths)} wide, {min(heights)} to {max(heights)} high, most often {common}"
    kinds = ", ".join(f"{mode} × {count}" if len(modes) > 1 else mode for mode, count in modes.most_common())
    return f"  images, {len(images)} of them checked: {extent if len(sizes) > 1 else f'all {common}'} pixels, {kinds}"


def place_lines(data_dir: Path, trained: Sequence[str], test_ids: Sequence[str]) -> list[str]:
    """Say where the files of single rows lie, by their ids; rows to validate on count as trained."""
    files = row_files(data_dir, trained, frozenset(test_ids))
    return [
        f"{_place(pattern, places)}: {len(places):,} of {count:,} {kind} rows have a file"
        for kind, side, count in (
            ("training and validation", files.train, len(trained)),
            ("test", files.test, len(test_ids)),
        )
        for pattern, places in sorted(side.items(), key=lambda item: str(item[0]))
        if len(places) >= _HALF * count  # else folders of classes
    ]


def _place(pattern: Pattern, places: Mapping[str, str]) -> str:
    suffix = PurePosixPath(pattern.path).suffix
    keeps_suffix = next(iter(places)).endswith(suffix) and bool(suffix)
    path = clean(pattern.path.replace("{id}" + suffix, "{id}") if keeps_suffix else pattern.path)
    return f"{path} in {clean(pattern.archive.as_posix())}" if pattern.archive else path


def _examples(paths: Sequence[Path]) -> str:
    return ", ".join(clean(path.as_posix()) for path in paths[:_LOOKED_AT])
