"""All that is known of the task of a competition that is running on Kaggle."""

import asyncio
import csv
import itertools
import lzma
import zlib
from dataclasses import replace
from pathlib import Path

from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.card.evidence import Evidence, Sample, Tables
from scrapers.kaggle.card.pages import in_markdown
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.samples import SAMPLE, find_samples
from scrapers.posts.cleaners import Cleaners
from scrapers.snapshots.files import walk
from scrapers.snapshots.tables import NotCsv, open_table
from state.errors import NotFound

_MOST_ROWS = 1_000_000
"""Of a sample, in which ids are compared."""
_SOME_ROWS = 10_000
"""Of a sample, by which columns are told to hold numbers."""
_MOST_CELLS = 20_000_000
"""Of train.csv, in which classes are looked for."""
_MOST_CLASSES = 2_000
_UNREADABLE = (NotCsv, OSError, EOFError, zlib.error, lzma.LZMAError, csv.Error)


def read_tables(folder: Path) -> Tables:
    """Read sample_submission.csv, train.csv and test.csv, where they are; what cannot be read is not there."""
    train, test = _header(folder / "train.csv"), _header(folder / "test.csv")
    sample = _sample(folder / SAMPLE)
    is_wide = sample is not None and len(sample.header) > 2
    labels = _labels(folder / "train.csv", train, test) if is_wide and train else {}
    candidates = () if sample else find_samples([path.relative_to(folder).as_posix() for path in walk(folder)])
    return Tables(sample, train, test, labels, candidates)


def _header(path: Path) -> tuple[str, ...] | None:
    try:
        with open_table(path) as rows:
            return tuple(next(rows, (0, []))[1]) or None
    except _UNREADABLE:
        return None


def _sample(path: Path) -> Sample | None:
    try:
        with open_table(path) as rows:
            header = tuple(next(rows, (0, []))[1])
            if not header:
                return None
            first: set[int] = set()
            sample_rows: list[list[str]] = []
            count = 0
            for _, cells in itertools.islice(rows, _MOST_ROWS):
                if len(cells) == len(header):
                    count += 1
                    first.add(hash(cells[0]))
                    if len(sample_rows) < _SOME_ROWS:
                        sample_rows.append(cells)
    except _UNREADABLE:
        return None
    sample = Sample.from_rows(header, sample_rows, path.name)
    # The first rows tell what cells are like; whether the first column names each row, all of them do.
    is_unique = len(first) == count
    unique = (sample.unique - {header[0]}) | ({header[0]} if is_unique else set())
    return replace(sample, rows=count, unique=unique, key_columns=() if is_unique else sample.key_columns)


def _labels(path: Path, train: tuple[str, ...], test: tuple[str, ...] | None) -> dict[str, frozenset[str]]:
    """Return the values of the columns that test rows lack, where there are few."""
    places = {name: place for place, name in enumerate(train) if test is None or name not in test}
    values: dict[str, set[str]] = {name: set() for name in places}
    try:
        with open_table(path) as rows:
            next(rows)
            for _, cells in itertools.islice(rows, _MOST_CELLS // len(train)):
                if len(cells) == len(train):
                    for name in list(values):
                        values[name].add(cells[places[name]])
                        if len(values[name]) > _MOST_CLASSES:
                            del values[name]
    except _UNREADABLE:
        return {}
    return {name: frozenset(labels) for name, labels in values.items()}


async def read_evidence(competitions: Competitions, slug: str) -> Evidence:
    """Ask Kaggle for all that tells of a task but the data; errors as of `KaggleClient`."""
    fields = await competitions.get(slug)
    async with Cleaners(1) as cleaners:
        pages = await in_markdown(await competitions.pages(slug), cleaners)
    return Evidence(slug, fields, pages, None, await _scores(competitions, slug))


async def with_data(evidence: Evidence, folder: Path) -> Evidence:
    """Return it with what the competition's data in a folder says."""
    return replace(evidence, tables=await asyncio.to_thread(read_tables, folder))


async def _scores(competitions: Competitions, slug: str) -> tuple[str, ...]:
    """Return the board's scores, its top's if that shows an order already."""
    try:
        top = tuple(entry.score for entry in (await competitions.top(slug)).submissions)
        if read_order(top).direction or not top:
            return top
        rows, _ = await competitions.board(slug)
        return tuple(str(row.score) for row in rows if row.score is not None)
    except NotFound:  # none is shown
        return ()
