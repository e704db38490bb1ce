"""The built-in model's techniques: those that a text names, and those that suit a task."""

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Literal

from bot.evaluation.metrics.registry import METRICS
from state.closed_model import ClosedModel

_CLASS_WORDS = ("log_loss", "auc", "accuracy", "f1", "kappa", "entropy")
_LABEL_WORDS = ("accuracy", "f1", "kappa")
_EXCLUSION = re.compile(
    r"(?:without|drop|remove|no|leav\w+(?: out)?) (?:the )?(?:(?:calendar )?(?:column|feature) [`'\"]?(\w+)"
    r"|[`'\"]?(year|month|day|weekday|hour|minute)\b)",
    re.IGNORECASE,
)
_KINDS = {
    "image": r"\.(jpe?g|png|bmp|tiff?)\b|\b(image|photo|picture)s?\b",
    "text": r"text of ([\d,]+ to )?[\d,]{3,} char|\b(sentence|essay|comment|tweet|excerpt)s?\b",
    "table": r": (number|time),",
}


class Technique(ClosedModel):
    """One technique, as techniques.toml explains."""

    title: str
    method: str
    words: str
    kinds: frozenset[Literal["table", "text", "image"]] = frozenset(("table", "text", "image"))
    target: Literal["classes", "numbers"] | None = None
    brings: tuple[str, ...] = ()
    family: bool = False
    common: bool = False


@cache
def vocabulary() -> dict[str, Technique]:
    """Return all techniques by title."""
    table = tomllib.loads(Path(__file__).with_name("techniques.toml").read_text(encoding="utf-8"))
    return {title: Technique(title=title, **entry) for title, entry in table.items()}


def named_in(text: str) -> tuple[str, ...]:
    """Return the titles of the techniques that a text names, in the vocabulary's order, then `without COLUMN`.

    Quotations of posts do not count: they may name other techniques too.
    """
    text = re.sub(r' The post: "[^\n]*', "", text)
    titles = [t.title for t in vocabulary().values() if re.search(t.words, text, re.IGNORECASE)]
    return (*titles, *dict.fromkeys(f"without {m[1] or m[2].lower()}" for m in _EXCLUSION.finditer(text)))


def method_text(title: str) -> str:
    """Return a technique as a sentence, from which `named_in` reads it back."""
    technique = vocabulary().get(title)
    return technique.method if technique else f"Leave out the column `{title.removeprefix('without ')}`."


def predicts_classes(metric: str) -> bool:
    """Return whether the metric of this name scores classes or their probabilities."""
    facts = METRICS.get(metric)
    return facts.of_classes if facts else any(word in metric for word in _CLASS_WORDS)


def predicts(metric: str) -> str:
    """Return the predictions that the metric of this name takes: `number`, `chance`, `label` or `text`; empty if unknown."""
    if facts := METRICS.get(metric):
        return "chance" if facts.input_kind == "number" and facts.of_classes else facts.input_kind
    if any(word in metric for word in _LABEL_WORDS):
        return "label"
    return "chance" if predicts_classes(metric) else ""


def kinds_in(text: str) -> frozenset[str]:
    """Return the kinds of data that a preview or a description names; a table if it names none."""
    return frozenset(k for k, words in _KINDS.items() if re.search(words, text, re.IGNORECASE)) or frozenset(("table",))


def suits(title: str, kinds: frozenset[str], metric: str) -> bool:
    """Return whether a technique can have an effect on such data and metric; leaving out a column always can."""
    technique, target = vocabulary().get(title), "classes" if predicts_classes(metric) else "numbers"
    return technique is None or bool(technique.kinds & kinds and technique.target in (None, target))


def suitable(kinds: frozenset[str], metric: str) -> list[Technique]:
    """Return the techniques that suit such data and metric."""
    return [t for t in vocabulary().values() if suits(t.title, kinds, metric)]
