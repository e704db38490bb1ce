"""Grows a person's own data into a snapshot-like folder: tables, sample submission, task; answers only if rows were withheld."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from bot.evaluation.metrics.registry import ABBREVIATIONS
from bot.replay.own_data.asked import Asked, Found
from bot.replay.own_data.columns import NUMBERED, id_of, refuse_answers, target_of
from bot.replay.own_data.files import Sources, locate, refuse_formats
from bot.replay.own_data.folders import index_folders
from bot.replay.own_data.parting import Parted, part
from bot.replay.own_data.table import OwnTable, is_missing
from bot.replay.own_data.task import Task, task_of, task_of_sample
from scrapers.imports.linking import link_or_copy
from scrapers.snapshots.answers import ANSWERS, SAMPLE
from scrapers.snapshots.manifest import DESCRIPTION, MANIFEST
from scrapers.snapshots.tables import open_table, write_table
from state.errors import UsageError
from state.words import iso, plural

WITHHELD = "private/withheld.csv"
"""The rows of one table that were withheld, as training rows: the package learns from them, too."""
DECIMALS = "decimal_commas.json"
"""The columns whose numbers had decimal commas, which new rows will have, too."""
FEWEST = 10
"""Rows with a target that there are to learn from; fewer cannot be split to score scripts."""
_TRUE = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class _Rows:
    """How the rows of both tables are written."""

    sources: Sources
    target: str | None
    """None: the sample submission says what is predicted, and tables are taken as they are."""
    task: Task
    id: str
    is_numbered: bool
    """Whether the id is a new column with the numbers of rows."""
    parted: Parted | None


def grow(source: Path, folder: Path, slug: str, asked: Asked, out: Path, now: datetime) -> Found:
    """Write the snapshot-like folder of one's own data, and return what was found.

    The source is a folder with tables, or with folders of files by class; or one table. Beside the new folder tables of files
    are made. What is in `out`, where runs are written, is no data; `now` stands in for all dates.

    Raises:
        UsageError: something is missing or wrong, in one sentence that says what to do.
        OSError: a file cannot be read, or not be written.
    """
    asked = replace(asked, metric=ABBREVIATIONS.get((asked.metric or "").lower(), asked.metric))
    if (source / MANIFEST).is_file():
        raise UsageError(f"{source} is a snapshot: `bot replay` works on it, or name {source / 'data'}")
    found = Found()
    sources = locate(source, asked, out, found)
    if sources is None:
        staging = folder.with_name(f"{folder.name}-files")
        staging.mkdir()
        sources = index_folders(source, staging, found)
    if sources is None:
        refuse_formats(source, out)
        raise UsageError(
            f"{source} holds no table (.csv, .tsv) and no folders of files by class: there is nothing to learn from"
        )
    rows = _rows(sources, asked, found)
    folder.mkdir()
    _write_data(rows, folder)
    _write_task(rows, folder, slug, now)
    return found


def _rows(sources: Sources, asked: Asked, found: Found) -> _Rows:
    train, test, sample = sources.train, sources.test, sources.sample
    if sample is not None and (asked.target is None or asked.target in sample.header):
        task = task_of_sample(train, test, sample, asked.metric, found)
        for name in task.columns:
            if test is not None and name in test.header:
                refuse_answers(test, name)
        return _Rows(sources, None, task, sample.header[0], is_numbered=False, parted=None)
    target = target_of(train, test, asked, found)
    if test is not None:
        refuse_answers(test, target)
    task = task_of(train, target, asked.metric, found)
    id_column = id_of(train, test, target, asked, found)
    parted = None if test is not None else part(train, target, task.kind, asked, found)
    withheld = len(parted.test) if parted is not None and parted.answered else 0
    taught = sum(not is_missing(cell) for cell in train.column(target)) - withheld
    if taught < FEWEST:
        raise UsageError(
            f"{train.name} leaves {plural(taught, 'row')} to learn `{target}` from: at least {FEWEST} are needed"
        )
    numbered = next(name for name in NUMBERED if name not in train.header)
    return _Rows(sources, target, task, id_column or numbered, is_numbered=id_column is None, parted=parted)


def _write_data(rows: _Rows, folder: Path) -> None:
    sources, data = rows.sources, folder / "data"
    data.mkdir()
    train, parted = sources.train, rows.parted
    test_rows = frozenset[int]() if parted is None else parted.test
    write_table(data / "train.csv", _header(rows, train), _cells(rows, train, lambda row: row not in test_rows))
    if parted is not None:
        header = [name for name in _header(rows, train) if name != rows.target]
        write_table(data / "test.csv", header, _cells(rows, train, lambda row: row in test_rows, answers=False))
    elif sources.test is not None:
        header = [name for name in _header(rows, sources.test) if name != rows.target]
        write_table(data / "test.csv", header, _cells(rows, sources.test, answers=False, first=train.length))
    if sources.sample is not None and rows.target is None:
        write_table(folder / SAMPLE, sources.sample.header, sources.sample.rows())
    else:
        with open_table(data / "test.csv") as asked:
            place = next(asked)[1].index(rows.id)
            cells = ([row[place], *rows.task.default] for _, row in asked)
            write_table(folder / SAMPLE, [rows.id, *rows.task.columns], cells)
    if parted is not None and parted.answered:
        (folder / ANSWERS).parent.mkdir(mode=0o700)
        write_table(folder / ANSWERS, [rows.id, *rows.task.columns], _answers(rows, parted))
        write_table(folder / WITHHELD, _header(rows, train), _cells(rows, train, lambda row: row in test_rows))
    if train.decimals:
        (folder / DECIMALS).write_text(json.dumps(train.decimals), encoding="utf-8")
    for path in sources.others:
        if not (data / path).exists():
            link_or_copy(sources.root / path, data / path)


def _header(rows: _Rows, table: OwnTable) -> list[str]:
    return [rows.id, *table.header] if rows.is_numbered else list(table.header)


def _cells(
    rows: _Rows,
    table: OwnTable,
    wanted: Callable[[int], bool] = lambda _: True,
    *,
    answers: bool = True,
    first: int = 0,
) -> Iterator[list[str]]:
    """Yield the wanted rows, with a number in front if they have no id; `first` is that of the first row.

    With answers, rows without one are left out: with nothing to learn from them, they would turn whole numbers into floats.
    """
    at = table.header.index(rows.target) if rows.target in table.header else None
    labels = {table.header.index(name): to for name, to in rows.task.labels.items() if name in table.header}
    for number, cells in enumerate(table.rows()):
        if not wanted(number) or (answers and at is not None and is_missing(cells[at])):
            continue
        if at is not None:
            cells[at] = cells[at].strip()
        for place, written in labels.items():
            cells[place] = written.get(cells[place].strip(), cells[place])
        kept = [cell for place, cell in enumerate(cells) if answers or place != at]
        yield [str(first + number), *kept] if rows.is_numbered else kept


def _answers(rows: _Rows, parted: Parted) -> Iterator[list[str]]:
    """Yield id and truth of each withheld row, in the form of predictions."""
    train = rows.sources.train
    at = train.header.index(rows.target or "")
    for number, cells in enumerate(train.rows()):
        if number not in parted.test:
            continue
        key = str(number) if rows.is_numbered else cells[train.header.index(rows.id)]
        value = cells[at].strip()
        if rows.task.classes:
            yield [key, *("1" if one == value else "0" for one in rows.task.classes)]
        else:
            yield [key, value if rows.task.metric.takes != "number" else _TRUE.get(value.lower(), value)]


def _write_task(rows: _Rows, folder: Path, slug: str, now: datetime) -> None:
    task = rows.task
    manifest = {
        "format": 1,
        "slug": slug,
        "title": slug,
        "metric": {"name": task.metric.name, "direction": task.metric.direction, "params": {}},
        "id_column": rows.id,
        "prediction_columns": list(task.columns),
        "enabled_at": iso(now),
        "deadline": iso(now),
        "collected_at": iso(now),
        "split": rows.parted.how if rows.parted else "the owner's own test rows",
        "sources": [rows.sources.train.name],
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / DESCRIPTION).write_text(_description(rows, slug), encoding="utf-8")


def _description(rows: _Rows, slug: str) -> str:
    task = rows.task
    what = f"`{rows.target}`" if rows.target else ", ".join(f"`{name}`" for name in task.columns[:20])
    how = {
        "two classes": "It has two classes.",
        "classes": "It has several classes.",
        "quantity": "It is a quantity.",
    }[task.kind]
    how += "".join(
        f" In `{name}`, {one} stands for {old!r}." for name, to in task.labels.items() for old, one in to.items()
    )
    form = "a probability for each class" if len(task.columns) > 1 else "one prediction"
    own = f"\n## Data\n\n{rows.sources.description}\n" if rows.sources.description else ""
    return (
        f"# {slug}\n\nPredict {what} of each row of `test.csv`. {how}\n\n"
        f"## Evaluation\n\nPredictions are scored by `{task.metric.name}` ({task.metric.direction} it). `sample_submission.csv` "
        f"shows their form: {form} for each `{rows.id}`.\n{own}"
    )
