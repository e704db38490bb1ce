"""Leak by ids: a row's id reveals its label, instead of being a mere name."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from bot.evaluation.answers.findings import Finding, passed, suspicious
from bot.evaluation.guards.predictability import FEWEST, Numbers, by_neighbours, by_value
from bot.evaluation.guards.targets import GuardedView
from scrapers.snapshots.times import parse_times

LEAST = 0.1
"""Skill of an id above which it is not by chance."""
_ERRORS = 4.0
_DIGITS = re.compile(r"\d+")
_WORDS = re.compile(r"[^0-9A-Za-z]+")
_HEX = re.compile(r"[0-9a-f]{8,64}", re.IGNORECASE)
_RUNS = 3


def labels_by_id(guard: str, view: GuardedView) -> Finding:
    """Predict the validation rows' labels by the training rows whose ids are nearest, or have the same words."""
    ids, train = view.ids, view.train_ids
    if len(ids) < FEWEST:
        return passed(guard, f"{len(ids)} validation rows are too few to try ids on", rows=len(ids))
    if parse_times(train) is not None:
        return passed(guard, "ids are times, which may go with labels by right")
    best, how, what = 0.0, "", ""
    for target in view.targets:
        for name, seen, asked in _numbers(train, ids):
            found = by_neighbours(seen, asked, target)
            best, how, what = max((best, how, what), (found, name, target.name))
        for name, known, words in _words(train, ids):
            found = by_value(known, words, target)
            best, how, what = max((best, how, what), (found, name, target.name))
    enough = max(LEAST, _ERRORS / np.sqrt(len(ids)))
    if best < enough:
        return passed(guard, f"ids do not go with labels (skill {best:.2f})", skill=round(best, 4))
    sentence = f"{what!r} can be foretold by {how} of the id with a skill of {best:.2f} (random ids have none)"
    return suspicious(guard, sentence, skill=round(best, 4), by=how)


def _numbers(train: Sequence[str], asked: Sequence[str]) -> Iterator[tuple[str, Numbers, Numbers]]:
    for place in range(_RUNS):
        seen, wanted = ([_run(id, place) for id in side] for side in (train, asked))
        if np.isfinite(seen).mean() > 0.5:
            yield f"number {place + 1}" if place else "the number", np.array(seen), np.array(wanted)
    if all(_HEX.fullmatch(_stem(id)) for id in (*train[:100], *asked[:100])):
        seen, wanted = ([_hexadecimal(id) for id in side] for side in (train, asked))
        yield "the size", np.array(seen), np.array(wanted)


def _words(train: Sequence[str], asked: Sequence[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    for place in range(_RUNS):
        seen, wanted = ([_word(id, place) for id in side] for side in (train, asked))
        # A word that no two rows share shows nothing, nor does one that all have.
        if 1 < len(set(seen)) <= len(seen) / 2:
            yield f"word {place + 1}", seen, wanted


def _run(id: str, place: int) -> float:
    runs = _DIGITS.findall(id)
    return float(runs[place]) if place < len(runs) and len(runs[place]) <= 15 else np.nan


def _word(id: str, place: int) -> str:
    words = [word for word in _WORDS.split(id) if word]
    return words[place] if place < len(words) else ""


def _stem(id: str) -> str:
    return id.rsplit(".", 1)[0]


def _hexadecimal(id: str) -> float:
    stem = _stem(id)
    return float(int(stem[:13], 16)) if _HEX.fullmatch(stem) else np.nan
