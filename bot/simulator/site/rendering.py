"""Markdown as the HTML that the site's answers carry."""

import hashlib
import re
from functools import lru_cache

from markdown_it import MarkdownIt


@lru_cache(maxsize=1)
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table")


@lru_cache(maxsize=4096)
def rendered(markdown: str) -> str:
    """Return CommonMark with tables as HTML; tags in the text are escaped."""
    return str(_markdown().render(markdown))


def slugified(text: str) -> str:
    """Return the text as a slug: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def share_of(seed: int, *parts: object) -> float:
    """Return a number from 0 to 1 that is always the same for the same arguments."""
    text = "/".join(map(str, (seed, *parts)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "big") / 2**48
