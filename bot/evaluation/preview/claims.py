"""Where a description claims something of the data that they contradict."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from bot.evaluation.metrics.registry import CLASSIFICATION_METRICS
from bot.evaluation.preview.column_lines import percent
from bot.evaluation.preview.profile import Column, clean, join_some
from scrapers.snapshots.card import TaskCard

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
            yield f"It gives {clean(column.name)} the range {low:g} to {high:g}, but it has {extent} ({share} outside)."


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
