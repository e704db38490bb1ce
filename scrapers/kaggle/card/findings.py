"""What was found out about a competition: each field's value with who says so, and what its owner must say instead."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from scrapers.kaggle.card.columns import Columns
from scrapers.snapshots.card import TaskCard

OWNER = "owner, bot.toml"


@dataclass(frozen=True)
class FieldFinding:
    """A field's value, if it is certain, with its source."""

    value: object | None
    source: str = ""
    """Who says so, with their words."""


@dataclass(frozen=True)
class Missing:
    """A field that is not certain, and the line that settles it."""

    competition: str
    field: str
    reason: str
    line: str
    """For bot.toml, such as `metric = "rmse"`."""
    brief: str = ""
    """The same where it is repeated; nothing: the line is short."""

    def __str__(self) -> str:
        section, line = f"[competitions.{toml_key(self.competition)}]", self.brief or self.line
        return f"{self.competition}: {self.field} is uncertain: {self.reason}; add this line under {section} in bot.toml: {line}"


@dataclass(frozen=True)
class DerivedCard:
    """A task card, or what it lacks."""

    card: TaskCard | None
    findings: Mapping[str, FieldFinding]
    missing: tuple[Missing, ...]
    columns: Columns


def toml_key(name: str) -> str:
    """Return a name as a key of TOML."""
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else json.dumps(name, ensure_ascii=False)
