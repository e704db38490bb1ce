"""Notices: what the owner should know, written with what it reports and delivered at least once."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from state.words import iso

__all__ = ["Notice", "NoticeKind", "kinds"]

_KEY_PART = 80
"""Characters; a longer value is shown in a key by its hash."""


@dataclass(frozen=True)
class NoticeKind:
    """What all notices of one kind share."""

    title: str
    text: str
    """Jinja templates of the facts and the competition."""
    once_per: tuple[str, ...]
    """Names of facts: notices of a competition that agree in them are one, so that nothing is sent twice after a restart."""
    urgent: bool = False
    """Sent in quiet hours too."""


@cache
def kinds() -> Mapping[str, NoticeKind]:
    """Return all kinds of notices, such as `leaderboard.rank`, as `kinds.toml` has them."""
    tables = tomllib.loads((Path(__file__).parent / "kinds.toml").read_text(encoding="utf-8"))
    return {name: NoticeKind(**table) for name, table in tables.items()}


@dataclass(frozen=True)
class Notice:
    """Something that the owner should know, in figures and names; `bot.notify.wording` puts it into words."""

    kind: str
    """A key of `kinds()`."""
    competition: str
    """Empty: it is of no competition."""
    facts: dict[str, Any]
    """All that the templates of its kind name: texts, numbers, times, None, and lists and dicts of them."""

    @property
    def key(self) -> str:
        """The key that duplicates are found by."""
        parts = (_key_part(self.facts[name]) for name in kinds()[self.kind].once_per)
        return "/".join([self.kind, *filter(None, [self.competition]), *parts])

    @property
    def urgent(self) -> bool:
        """Whether it is sent in quiet hours too."""
        return kinds()[self.kind].urgent


def _key_part(value: Any) -> str:
    text = iso(value) if isinstance(value, datetime) else str(value)
    return text if len(text) <= _KEY_PART else hashlib.sha256(text.encode()).hexdigest()[:12]
