"""Templates of pages: nothing in a text can become markup, or deceive the eye."""

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, characters that reorder text, and lone surrogates."""


def style() -> str:
    """Return the style sheet of reports: colours, tables, the tree."""
    return (Path(__file__).parent / "style.css.j2").read_text(encoding="utf-8")


def page_environment(*folders: Path) -> Environment:
    """Return an environment for the templates in some folders and in this one, in which every text is escaped."""
    return Environment(
        loader=FileSystemLoader([*folders, Path(__file__).parent]),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_format_value,
    )


def _format_value(value: Any) -> Any:
    """Replace invisible and deceptive characters in every text that a template prints."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", value)
    return value
