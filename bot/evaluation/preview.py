"""A bounded preview of a data folder for whoever writes code on it: files, columns, target, archives."""

from collections.abc import Sequence
from pathlib import Path

from bot.evaluation.file_list import TABLES, archive_lines, file_lines
from bot.evaluation.finding import read_any, table_kind
from bot.evaluation.profile import clean, column_lines, profile, target_line
from bot.evaluation.shared_files import data_files
from bot.evaluation.tables import Rows, encode_row
from scrapers.card import TaskCard
from state.errors import UnsupportedLayout

_OURS = ("train.csv", "test.csv", "validation.csv", "sample_submission.csv", "sample_validation.csv")
_LARGEST_OTHER = 64 * 1024**2
"""Bytes of a table that has to be read as a whole for its columns (records), or unpacked."""
_SHARE = {"Files": 0.22, "Target": 0.15, "Archives": 0.2}
"""The part of the whole that a section may take; a table may take `_TABLE_SHARE`."""
_TABLE_SHARE = 0.35
_LINE = 400


def preview(data_dir: Path, card: TaskCard, max_chars: int = 6000) -> str:
    """Describe a data folder in at most `max_chars` characters; the same folder gives the same text.

    Args:
        data_dir: a competition's files, or a view of them.
        card: the task: its id and prediction columns.
        max_chars: longest text; sections are cut at lines, each with a note of how many are left out.
    """
    tables = _tables(data_dir)
    sections: list[tuple[str, list[str]]] = [("Files", file_lines(data_dir))]
    names = _main_names(tables)
    known = {kind: tables[name] for kind, name in names.items()}
    if "train" in known:
        sections.append(("Target", _target_lines(known, card)))
    ours = dict.fromkeys((*(names[kind] for kind in ("train", "test", "validation") if kind in names), *_OURS))
    sections += [(name, _table_lines(name, names, tables, card)) for name in [*ours, *sorted(set(tables) - set(ours))]]
    sections.append(("Archives", archive_lines(data_dir)))
    parts = [_section(title, lines, max_chars) for title, lines in sections if lines]
    text = "\n\n".join(parts)
    return text if len(text) <= max_chars else f"{text[: max_chars - 20].rsplit(chr(10), 1)[0]}\n… (cut)"[:max_chars]


def _tables(data_dir: Path) -> dict[str, Rows]:
    """Tables that can be read, by their path."""
    tables: dict[str, Rows] = {}
    for path in data_files(data_dir):
        text = path.suffix.lower() in TABLES
        other = not text and len(path.parts) == 1 and (data_dir / path).stat().st_size <= _LARGEST_OTHER
        if len(tables) < 12 and (text or (other and table_kind(data_dir / path) is not None)):
            try:
                tables[path.as_posix()] = read_any(data_dir / path)
            except UnsupportedLayout:
                continue
    return tables


def _main_names(tables: dict[str, Rows]) -> dict[str, str]:
    """The tables of training rows, of test rows and of those to validate on, whatever their form, by what they are."""
    names: dict[str, str] = {}
    for kind in ("train", "test", "validation"):
        found = [name for name in tables if name.split(".")[0] == kind]
        names |= {kind: min(found, key=lambda name: (name != f"{kind}.csv", name))} if found else {}
    if "train" not in names and "validation" in names:
        shown = set(tables[names["validation"]].header)
        wider = [name for name, table in tables.items() if shown < set(table.header) and "test" not in name]
        names |= {"train": wider[0]} if wider else {}
    return names


def _section(title: str, lines: Sequence[str], max_chars: int) -> str:
    room = int(max_chars * _SHARE.get(title, _TABLE_SHARE))
    kept = [f"## {title}"]
    for at, line in enumerate(lines):
        short = line if len(line) <= _LINE else f"{line[:_LINE]}…"
        if sum(map(len, kept)) + len(kept) + len(short) > room:
            return "\n".join([*kept, f"… and {len(lines) - at} more lines"])
        kept.append(short)
    return "\n".join(kept)


def _lacking(tables: dict[str, Rows], card: TaskCard) -> list[str]:
    """Training columns that test rows lack; without a table of test rows, all but the id."""
    test = tables.get("test") or tables.get("validation")
    known = set(card.row_columns) if test is None else {*card.row_columns, *test.header}
    return [column for column in tables["train"].header if column not in known]


def _target_lines(tables: dict[str, Rows], card: TaskCard) -> list[str]:
    lacking = _lacking(tables, card)
    wanted = [column for column in card.prediction_columns if column not in lacking]
    shown = ", ".join(map(clean, card.prediction_columns[:6])) + (" …" if len(card.prediction_columns) > 6 else "")
    lines = [
        f"To predict ({card.metric.name}, {card.metric.direction}): {shown} ({len(card.prediction_columns)} columns), "
        f"one row for each {' and '.join(map(clean, card.row_columns))}.",
        f"Columns of {tables['train'].path.name} that test rows lack: {', '.join(map(clean, lacking[:20])) or 'none'}"
        + (f" and {len(lacking) - 20} more" if len(lacking) > 20 else ""),
    ]
    if len(wanted) == len(card.prediction_columns) and len(lacking) == 1:
        lines.append(f"{clean(lacking[0])} holds the label; the submission names it in its own columns.")
    try:
        columns, _ = profile(tables["train"])
    except UnsupportedLayout as error:
        return [*lines, str(error)]
    return lines + [target_line(column) for column in columns if column.name in lacking[:8]]


def _table_lines(name: str, names: dict[str, str], tables: dict[str, Rows], card: TaskCard) -> list[str]:
    if name not in tables:
        return []
    table, known = tables[name], {kind: tables[one] for kind, one in names.items()}
    train = known.get("train")
    if name in ("sample_submission.csv", "sample_validation.csv"):
        return _first_rows(table)
    if train is not None and name in (names.get("test"), names.get("validation")):
        lacking = set(_lacking(known, card))
        if [column for column in train.header if column not in lacking] == list(table.header):
            return [
                f"The columns of {train.path.name} without {', '.join(map(clean, sorted(lacking)[:10])) or 'any missing'}."
            ]
    try:
        columns, rows = profile(table)
    except UnsupportedLayout as error:
        return [str(error)]
    return [f"Columns, by the first {rows:,} rows:", *column_lines(columns)]


def _first_rows(table: Rows) -> list[str]:
    """Return a table's header and first two rows, as text."""
    try:
        rows = [table.header, *(row for _, row in zip(range(2), table.rows(), strict=False))]
    except UnsupportedLayout as error:
        return [str(error)]
    return [
        _cut(encode_row([clean(cell) for cell in row], getattr(table, "delimiter", ",")).rstrip("\n")) for row in rows
    ]


def _cut(line: str) -> str:
    return line if len(line) <= 200 else f"{line[:200]}…"
