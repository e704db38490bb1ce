"""Describes the files of a data folder: sizes, rows, what archives and image folders hold."""

import codecs
import io
import zipfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath

from PIL import Image

from bot.evaluation.named_files import archive_names
from bot.evaluation.profile import clean
from bot.evaluation.shared_files import data_files
from bot.evaluation.tables import read_table
from state.errors import UnsupportedLayout

IMAGES = frozenset({".jpg", ".jpeg", ".png", ".tif", ".tiff", ".bmp", ".gif", ".webp"})
TABLES = frozenset({".csv", ".tsv"})
_EACH = 8
"""More files than this of one kind in one folder are summed up."""
_LINES = 40
_LOOKED_AT = 3
_COUNTED_BYTES = 64 * 1024**2
_HEAD = 300


def file_lines(data_dir: Path) -> list[str]:
    """Return a line a file; many files of a kind in one folder share a line."""
    groups: dict[tuple[str, str], list[Path]] = {}
    for path in data_files(data_dir):
        groups.setdefault((path.parent.as_posix(), path.suffix.lower()), []).append(path)
    lines = []
    for (folder, suffix), paths in sorted(groups.items()):
        if len(paths) > _EACH:
            size = sum((data_dir / path).stat().st_size for path in paths)
            kind = suffix or "without suffix"
            lines.append(f"{clean(folder)}/: {len(paths):,} files {kind}, {human(size)}, e.g. {_few(paths)}")
            lines += _image_lines([(path.name, (data_dir / path).read_bytes) for path in paths[:_LOOKED_AT]], suffix)
        else:
            lines += [_file_line(data_dir, path) for path in paths]
    more = len(lines) - _LINES
    return lines if more <= 0 else [*lines[:_LINES], f"… and {more:,} more lines of files"]


def _file_line(data_dir: Path, path: Path) -> str:
    size = (data_dir / path).stat().st_size
    rows = f", {count_rows(data_dir / path)}" if path.suffix.lower() in TABLES else ""
    return f"{clean(path.as_posix())}: {human(size)}{rows}"


def count_rows(path: Path) -> str:
    """Return how many rows and columns a table has; of a large one its lines are counted, which is quicker."""
    try:
        table = read_table(path)
        if path.stat().st_size <= _COUNTED_BYTES:
            return f"{sum(1 for _ in table.rows()):,} rows, {len(table.header):,} columns"
    except UnsupportedLayout:
        return "not a plain table"
    with path.open("rb") as file:
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    return f"about {lines - 1:,} rows, {len(table.header):,} columns"


def archive_lines(data_dir: Path) -> list[str]:
    """Return what each archive holds: how many members of which kind, examples, images' sizes, a text's beginning."""
    lines: list[str] = []
    for path in data_files(data_dir):
        names = archive_names(data_dir / path)
        if names is None:
            continue
        names = sorted(names)
        kinds = Counter(PurePosixPath(name).suffix.lower() or "without suffix" for name in names)
        shown = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common(5))
        few = _few([Path(name) for name in names])
        lines.append(f"{clean(path.as_posix())}: {len(names):,} files ({shown}), e.g. {few}")
        if zipfile.is_zipfile(data_dir / path):
            lines += _member_lines(data_dir / path, names[:_LOOKED_AT])
    return lines


def _member_lines(path: Path, names: Sequence[str]) -> list[str]:
    with zipfile.ZipFile(path) as archive:
        readable = [name for name in names if not archive.getinfo(name).flag_bits & 1]
        if not readable:
            return []
        suffix = PurePosixPath(readable[0]).suffix.lower()
        if suffix in IMAGES:
            return _image_lines([(name, partial(archive.read, name)) for name in readable], suffix)
        with archive.open(readable[0]) as file:
            head = file.read(_HEAD)
    try:
        # The cut may fall inside a character.
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return []
    return [f"  {clean(readable[0])} begins:", *(f"    {line[:100]}" for line in text.splitlines()[:6])]


def _image_lines(images: Sequence[tuple[str, Callable[[], bytes]]], suffix: str) -> list[str]:
    if suffix not in IMAGES:
        return []
    return [f"  {clean(name)}: {_image(read())}" for name, read in images]


def _image(content: bytes) -> str:
    try:
        with Image.open(io.BytesIO(content)) as image:
            return f"{image.width} × {image.height} pixels, {image.mode}"
    except (OSError, ValueError, Image.DecompressionBombError):
        return "cannot be opened as an image"


def _few(paths: Sequence[Path]) -> str:
    return ", ".join(clean(path.as_posix()) for path in paths[:_LOOKED_AT])


def human(size: int) -> str:
    """Return a size in bytes, kB, MB or GB."""
    for unit, scale in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= scale:
            return f"{size / scale:.1f} {unit}"
    return f"{size} bytes"
