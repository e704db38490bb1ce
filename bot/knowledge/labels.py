"""The two-level set of labels: eleven top categories, each with its sub-labels, as labels.toml has them."""

import difflib
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from state.closed_model import ClosedModel

MOST_LABELS = 5
"""Labels that a task gets, in order of priority."""


class Label(ClosedModel):
    """A sub-label."""

    description: str
    """What it is for, in a few words."""
    words: str = ""
    """A pattern that a text about such a task holds; empty: no words show it."""


class Category(ClosedModel):
    """A top category."""

    description: str
    labels: dict[str, Label]


@cache
def categories() -> Mapping[str, Category]:
    """Return the top categories by name."""
    table = tomllib.loads(Path(__file__).with_name("labels.toml").read_text(encoding="utf-8"))
    return {name: Category.model_validate(entry) for name, entry in table.items()}


@cache
def labels() -> Mapping[str, Label]:
    """Return all labels by their whole name, such as `tabular/regression`."""
    return {f"{top}/{name}": label for top, category in categories().items() for name, label in category.labels.items()}


def checked(name: str) -> str:
    """Return a label's name; raises ValueError, which names what is near it, if it is none."""
    if name in labels():
        return name
    matches = difflib.get_close_matches(name, labels(), 1)
    hint = f"did you mean {matches[0]}?" if matches else f"the top-level categories are {', '.join(categories())}"
    raise ValueError(f"{name!r} is not a label: {hint}")


def labels_in(text: str) -> list[str]:
    """Return the labels whose words a text holds, the most frequent first; at most `MOST_LABELS`."""
    patterns = {name: label.words for name, label in labels().items() if label.words}
    counts = {name: len(re.findall(pattern, text, re.IGNORECASE)) for name, pattern in patterns.items()}
    return sorted((name for name, count in counts.items() if count), key=lambda name: -counts[name])[:MOST_LABELS]
