"""Pages as parts that are rendered apart, so that an open page is sent only those that have changed."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment

from bot.report import words
from bot.report.templates import page_environment
from bot.report.tree import BOX_HEIGHT, BOX_WIDTH

_FOLDED = ("board", "tree", "labs", "submissions", "ideas", "posts", "events")
"""Parts that a phone shows folded, as the others fill its first screens."""
_FOLDER = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Part:
    """One part of a page: its id, and its markup."""

    id: str
    markup: str

    @property
    def digest(self) -> str:
        """What tells whether it has changed."""
        return hashlib.sha256(self.markup.encode(errors="replace")).hexdigest()


@dataclass(frozen=True)
class Page:
    """One page."""

    title: str
    parts: Sequence[Part]
    ancestors: tuple[tuple[str, str], ...] = ()
    """Address and name of each page that it belongs to, the highest first."""


def page(
    title: str, names: Sequence[str], values: Mapping[str, Any], ancestors: tuple[tuple[str, str], ...] = ()
) -> Page:
    """Render a page's parts, each from the template of its name; every text is escaped."""
    parts = []
    for name in names:
        markup = environment().get_template(f"{name}.html.j2").render(values).strip()
        heading, _, body = markup.partition("</h2>")
        if name in _FOLDED and body:
            markup = f'<details class="fold" id="fold-{name}"><summary>{heading}</h2></summary>{body}</details>'
        parts.append(Part(name, markup))
    return Page(title, parts, ancestors)


def document(page: Page, stream: str | None = None) -> str:
    """Return a page as a document; `stream` is the address of its changes, None where it does not change."""
    return environment().get_template("base.html.j2").render(page=page, stream=stream)


@cache
def environment() -> Environment:
    """Return the environment of all templates."""
    jinja = page_environment(_FOLDER)
    jinja.globals.update(words=words, size=(BOX_WIDTH, BOX_HEIGHT), ago=ago, moment=datetime.fromisoformat)
    return jinja


def ago(now: datetime, since: datetime | None) -> str:
    """Return how long something has lasted, in the two units that matter."""
    return words.NO_VALUE if since is None else words.duration(max(0.0, (now - since).total_seconds()))
