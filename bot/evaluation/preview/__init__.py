"""A bounded preview of a data folder for whoever writes code on it: target, hold-out, columns, files; most telling first."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path, PurePosixPath

from bot.evaluation.answers.findings import reason_in
from bot.evaluation.layouts.data_files import archive_names, data_files
from bot.evaluation.metrics.registry import CLASSIFICATION_METRICS
from bot.evaluation.preview.column_lines import column_lines, oddity_lines, percent, sum_lines, target_lines
from bot.evaluation.preview.comparison import comparison_lines, drift_lines, prefix_lines
from bot.evaluation.preview.file_list import archive_lines, file_lines, place_lines
from bot.evaluation.preview.main_tables import MOST_IDS, MainTables, main_tables
from bot.evaluation.preview.profile import Column, clean, join_some
from bot.evaluation.tables.csv_table import encode_row
from bot.evaluation.views.build import view_info
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLASSES = re.compile(
    r"\b(\d{1,5}(?:,\d{3})*)\s+(?:[a-z-]+\s+)?(?:classes|categories|class labels|breeds|species)\b", re.I
)
_CONTINUOUS = re.compile(r"\bcontinuous(?:ly)?\b", re.I)
_COMPLETE = re.compile(
    r"\b(?:no|without(?: any)?)\s+(?:missing|null|nan)\b(?:\s+(?:values?|data|entries))?(?!\s+(?:more|longer))", re.I
)
_NUMBER = r"([-−]?\d+(?:\.\d+)?)"
_RANGE = re.compile(
    rf"(?:\bbetween\s+{_NUMBER}\s+and\s+{_NUMBER}|\brang\w*\s+(?:is\s+)?(?:of\s+|from\s+)?[\[(]?{_NUMBER}\s*(?:,|to|-|–)\s*{_NUMBER})",
    re.I,
)
_LINK = re.compile(r"https?://\S+")
_FILE = re.compile(r"(?<![\w{<*./-])[\w-]+(?:/[\w-]+)*\.(?:csv|tsv|json|jsonl|parquet|zip|npy|npz|h5|feather)\b", re.I)
_FEW_VALUES = 20
_ROWS = 200
"""Rows from which a column of so few values is not continuous."""
_LINES = 6


def claim_lines(
    card: TaskCard, targets: Sequence[Column], features: Sequence[Column], files: Iterable[str]
) -> list[str]:
    """Say which claims of a task's description the data contradict, a line each.

    `files` are the names of the data's files and of archives' members, of which no more are taken than are needed.
    """
    sentences = [sentence for sentence in _SENTENCE.split(card.description) if sentence.strip()]
    columns = [*targets, *features]
    lines = [
        *_continuous_lines(sentences, targets, features),
        *_range_lines(sentences, columns),
        *_complete_lines(sentences, columns),
        *_class_lines(card, targets),
        *_file_lines(card.description, files),
    ]
    return lines[:_LINES]


def _is_named(sentence: str, column: Column) -> bool:
    """Whether a sentence names a column, by its name or its name's words."""
    name = column.name.strip()
    spelled = r"[\s_-]+".join(map(re.escape, re.split(r"[\s_-]+", name)))
    return len(name) > 2 and re.search(rf"(?<![\w-]){spelled}(?![\w-])", sentence, re.I) is not None


def _continuous_lines(sentences: Sequence[str], targets: Sequence[Column], features: Sequence[Column]) -> Iterator[str]:
    for sentence in sentences:
        if not _CONTINUOUS.search(sentence):
            continue
        mentioned = [column for column in (*targets, *features) if _is_named(sentence, column)]
        of_labels = re.search(r"\b(?:targets?|labels?|values in the range)\b", sentence, re.I) is not None
        likely = mentioned or (targets if of_labels else ())
        coarse = [c for c in likely if c.numbers and c.rows >= _ROWS and len(c.values) <= _FEW_VALUES]
        if coarse:
            counts = [f"{clean(column.name)} ({len(column.values)})" for column in coarse]
            yield f"It calls these columns continuous, but they have few distinct values: {join_some(counts, 5)}."
            return


def _range_lines(sentences: Sequence[str], columns: Sequence[Column]) -> Iterator[str]:
    for sentence in sentences:
        ranges = list(_RANGE.finditer(sentence))
        mentioned = [column for column in columns if column.numbers and _is_named(sentence, column)]
        # Of several ranges or columns in a sentence, which belongs to which is anyone's guess.
        if len(ranges) != 1 or len(mentioned) != 1:
            continue
        low, high = (float(cell.replace("−", "-")) for cell in ranges[0].groups() if cell is not None)
        column = mentioned[0]
        outside = sum(not low <= number <= high for number in column.numbers)
        if low < high and outside:
            extent = f"{min(column.numbers):g} to {max(column.numbers):g}"
            share = percent(outside, len(column.numbers))
            yield f"It says {clean(column.name)} ranges from {low:g} to {high:g}, but the data has {extent} ({share} outside)."


def _complete_lines(sentences: Sequence[str], columns: Sequence[Column]) -> Iterator[str]:
    incomplete = [column for column in columns if column.missing]
    if incomplete and any(_COMPLETE.search(sentence) for sentence in sentences):
        names = ", ".join(f"{clean(column.name)} ({percent(column.missing, column.rows)})" for column in incomplete[:5])
        yield f"It claims that no values are missing, but some are: {names}."


def _class_lines(card: TaskCard, targets: Sequence[Column]) -> Iterator[str]:
    if card.metric.name not in CLASSIFICATION_METRICS:
        return
    has_class_columns = len(card.prediction_columns) > 1
    classes = len(card.prediction_columns) if has_class_columns else len(targets[0].values) if len(targets) == 1 else 0
    claimed = {int(number.replace(",", "")) for number in _CLASSES.findall(card.description)}
    if classes > 2 and claimed and min(claimed) > 1 and not claimed & {classes - 1, classes, classes + 1}:
        claims = " or ".join(f"{number:,}" for number in sorted(claimed)[:3])
        yield f"It mentions {claims} classes, but the labels have {classes:,}."


def _file_lines(description: str, files: Iterable[str]) -> Iterator[str]:
    mentioned = {_plain(name): name for name in _FILE.findall(_LINK.sub("", description))}
    mentioned.pop("submission", None)
    for name in files if mentioned else ():
        mentioned.pop(_plain(name), None)
        if not mentioned:
            return
    if mentioned:
        yield f"It mentions files that do not exist: {', '.join(map(clean, sorted(mentioned.values())[:6]))}."


def _plain(name: str) -> str:
    """Return a file's name without folder, suffixes and what spellings differ in."""
    return re.sub(r"[\W_]", "", PurePosixPath(name).name.split(".")[0]).lower()


LONGEST = 10_000
_LINE = 400
_ROW = 200
_TARGETS = 40
_WIDE_TARGETS = 6
_WIDE = 20
"""Columns from which one row of a sample shows all that two do."""
_SAMPLES = {"sample_submission.csv": "test", "sample_validation.csv": "validation"}

_Lines = Callable[[], Sequence[str]]
Ids = Mapping[str, Sequence[str]]


def preview(
    data_dir: Path, card: TaskCard, labels_dir: Path | None = None, doubts: Sequence[str] = (), max_chars: int = LONGEST
) -> str:
    """Describe a data folder in at most `max_chars` characters; the same folder gives the same text.

    A view has a `labels_dir`, which says how its rows were drawn. Sections are cut at lines, and say how many are left out.
    """
    parts = []
    for title, share, lines in _sections(data_dir, card, labels_dir, doubts):
        try:
            section_lines = lines()
        except UnsupportedLayout as error:
            section_lines = [str(error)]
        if section_lines:
            parts.append(_section(title, section_lines, int(max_chars * share)))
    text = "\n\n".join(parts)
    return text if len(text) <= max_chars else f"{text[: max_chars - 20].rsplit(chr(10), 1)[0]}\n… (cut)"[:max_chars]


def _sections(
    data_dir: Path, card: TaskCard, labels_dir: Path | None, doubts: Sequence[str]
) -> Iterator[tuple[str, float, _Lines]]:
    """Yield each section's title, the part of the whole that it may take, and its lines; most telling first."""
    data = main_tables(data_dir, card)
    samples = [name for name in _SAMPLES if name in data.tables]
    main = {data.train, *data.test_tables, *samples} - {None}
    ids = {name: data.ids(name, card.id_column) for name in main if name is not None}
    yield "Target", 0.15, partial(_target_lines, data, card)
    yield "Hold-out", 0.12, partial(_drawn_lines, labels_dir)
    yield "Possible problems in the data", 0.12, lambda: [clean(line, _LINE) for line in doubts]
    yield "Description compared with the data", 0.12, partial(_claim_lines, data_dir, data, card)
    if data.train is not None:
        yield "Training rows compared with rows to predict", 0.2, partial(_compared_lines, data, card, ids)
        yield data.train, 0.4, partial(_table_lines, data, data.train)
    yield "Files", 0.2, lambda: [*file_lines(data_dir), *_place_lines(data_dir, data, ids)]
    for name in samples:
        yield name, 0.15, partial(_sample_lines, data, name, ids)
    like = _like_training(data)
    for name in (*data.test_tables, *sorted(set(data.tables) - {data.train, *data.test_tables, *samples})):
        if name not in like:
            yield name, 0.2, partial(_table_lines, data, name)
    yield "Archives", 0.2, partial(archive_lines, data_dir)


def _section(title: str, lines: Sequence[str], room: int) -> str:
    section_lines = [f"## {title}"]
    for number, line in enumerate(lines):
        short = _cut(line, _LINE)
        if sum(map(len, section_lines)) + len(section_lines) + len(short) > room:
            return "\n".join([*section_lines, f"… and {len(lines) - number} more lines"])
        section_lines.append(short)
    return "\n".join(section_lines)


def _target_lines(tables: MainTables, card: TaskCard) -> list[str]:
    columns = card.prediction_columns
    lines = [
        f"To predict ({card.metric.name}, {card.metric.direction}): {_names(columns, _WIDE_TARGETS)}"
        f"{f' ({len(columns)} columns)' if len(columns) > 1 else ''}, one row for each "
        f"{' and '.join(map(clean, card.row_columns))}."
    ]
    if tables.train is None:
        return lines
    lacks_just_targets = len(columns) > _WIDE_TARGETS and set(tables.target_columns) == set(columns)
    lacking_names = "only these" if lacks_just_targets else _names(tables.target_columns, 20)
    lines.append(f"Columns of {tables.train} that are missing from the rows to predict: {lacking_names or 'none'}")
    if len(tables.target_columns) == 1 and tables.target_columns[0] not in columns:
        lines.append(f"{clean(tables.target_columns[0])} is the label; the submission has different columns for it.")
    columns_by_name = {column.name: column for column in tables.columns(tables.train)}
    targets = [columns_by_name[name] for name in tables.target_columns[:_TARGETS]]
    return [*lines, *target_lines(targets), *sum_lines(targets)]


def _claim_lines(data_dir: Path, tables: MainTables, card: TaskCard) -> list[str]:
    columns = tables.columns(tables.train) if tables.train is not None else []
    targets = [column for column in columns if column.name in tables.target_columns]
    features = [column for column in columns if column.name not in tables.target_columns]
    files = list(data_files(data_dir))
    members = (name for path in files for name in archive_names(data_dir / path) or ())
    return claim_lines(card, targets, features, chain((path.as_posix() for path in files), members))


def _names(names: Sequence[str], max_names: int) -> str:
    return join_some([clean(name) for name in names], max_names)


def _drawn_lines(labels_dir: Path | None) -> list[str]:
    if labels_dir is None:
        return []
    if (info := view_info(labels_dir)) is not None:
        notes = [note for note in info.notes if note not in info.description]
        return [clean(line, _LINE) for line in (info.description, *notes)]
    reason = reason_in(labels_dir)
    return [] if reason is None else [clean(f"No rows are held out: {reason}", _LINE)]


def _compared_lines(tables: MainTables, card: TaskCard, ids: Ids) -> list[str]:
    assert tables.train is not None  # noqa: S101 - else there is no such section
    main = (tables.train, *tables.test_tables)
    profiles = {name: {column.name: column for column in tables.columns(name)} for name in main}
    asked_tables = {name: tables.tables[name] for name in tables.test_tables}
    lines = comparison_lines(
        tables.train, tables.tables[tables.train], asked_tables, card.row_columns, tables.target_columns, profiles
    )
    tests = [name for name in tables.test_tables if not name.startswith("validation")]
    lines += [] if card.key_columns or not tests else prefix_lines(tables.train, tests[0], ids)
    if tests:
        sides = [(name, tables.tables[name]) for name in (tables.train, tests[0])]
        names = [column for column in asked_tables[tests[0]].header if column not in card.row_columns]
        columns = profiles[tables.train]
        lines += drift_lines(sides[0], sides[1], [name for name in names if name in columns], columns)
    partly = [f"{tables.read_rows(name)} of {name}" for name in main if not tables.is_whole(name)]
    return [f"In the rows that were read ({', '.join(partly)}):", *lines] if partly and lines else lines


def _like_training(tables: MainTables) -> list[str]:
    """Tables of rows to predict that have the training rows' columns, in their order, but for those that all of them lack."""
    if tables.train is None:
        return []
    shared_columns = [column for column in tables.tables[tables.train].header if column not in tables.target_columns]
    return [name for name in tables.test_tables if list(tables.tables[name].header) == shared_columns]


def _table_lines(tables: MainTables, name: str) -> list[str]:
    columns, read = tables.columns(name), tables.read_rows(name)
    if name != tables.train:
        return [f"Columns, based on {read}:", *column_lines(columns)]
    lines, like, targets = [], _like_training(tables), tables.target_columns[:_TARGETS]
    if like:
        verb, missing = "have" if len(like) > 1 else "has", _names(tables.target_columns, 3)
        lines.append(f"{' and '.join(like)} {verb} the same columns{f' except {missing}' if missing else ''}.")
    columns = [column for column in columns if column.name not in targets]
    lines.append(f"Columns{' other than the targets' if targets else ''}, based on {read}:")
    return [*lines, *column_lines(columns), *oddity_lines(columns)]


def _place_lines(data_dir: Path, tables: MainTables, ids: Ids) -> list[str]:
    names = [name for name in tables.test_tables if not name.startswith("validation")]
    test = next(iter(names), "sample_submission.csv")
    trained = [name for name in (tables.train, *tables.test_tables) if name is not None and name != test]
    return place_lines(data_dir, [id for name in trained for id in ids[name]], ids.get(test, ()))


def _sample_lines(tables: MainTables, name: str, ids: Ids) -> list[str]:
    """Return what rows a sample has, and its first two as text; none of the second sample, if its columns are the same."""
    table, asker = tables.tables[name], next((n for n in tables.test_tables if n.startswith(_SAMPLES[name])), None)
    lines = []
    if asker is not None:
        same_ids = sorted(ids[asker]) == sorted(ids[name])
        order = "in the same order" if list(ids[asker]) == list(ids[name]) else "in a different order: match rows by id"
        if same_ids or len(ids[name]) < MOST_IDS:
            differ = f"Its ids are not the same as those of {asker}."
            lines = [f"One row for each row of {asker}, {order}." if same_ids else differ]
    first = tables.tables.get(next(iter(_SAMPLES)))
    if first is not None and first is not table and first.header == table.header:
        return [*lines, f"The columns are the same as in {first.path.name}."]
    rows = [table.header, *islice(table.rows(), 2 if len(table.header) <= _WIDE else 1)]
    delimiter = getattr(table, "delimiter", ",")
    return lines + [_cut(encode_row([clean(c) for c in row], delimiter).rstrip("\n"), _ROW) for row in rows]


def _cut(line: str, longest: int) -> str:
    return line if len(line) <= longest else f"{line[:longest]}…"
