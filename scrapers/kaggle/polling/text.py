"""What a message's HTML and a kernel's source say: the one place where polling turns what the site sends into text."""

import json

from markdownify import ATX, markdownify

from scrapers.cleaning import clean, cut_middle
from scrapers.notebooks import notebook_text

__all__ = ["markdown_of", "text_of"]


def markdown_of(html: str) -> str:
    """Return what a message's HTML says as markdown of at most `cleaning.LARGEST_TEXT` bytes."""
    text = markdownify(html, heading_style=ATX, escape_asterisks=False, escape_underscores=False)
    return cut_middle(clean(text).strip("\n"))


def text_of(source: str, *, language: str | None = None, kernel_type: str | None = None) -> str:
    """Return what a kernel's source says, as clean text of at most `cleaning.LARGEST_TEXT` bytes.

    Args:
        source: such as `GetKernel` gives as `blob.source`.
        language: as the site names it, such as `r`.
        kernel_type: `notebook` or `script`.
    """
    if kernel_type == "notebook" and _is_object(source):
        source = notebook_text(source)
    return cut_middle(clean(source))


def _is_object(source: str) -> bool:
    try:
        return isinstance(json.loads(source), dict)
    except (ValueError, RecursionError):
        return False
