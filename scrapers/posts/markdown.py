"""HTML of a message as clean markdown: code with its language, tables, links, lists and formulas; images as words."""

import re
from functools import cache
from typing import Any

from bs4 import BeautifulSoup
from bs4.element import Tag
from markdownify import ATX, MarkdownConverter

from scrapers.posts.bounded_html import bounded
from scrapers.posts.cleaning import clean, cut_middle, without_encoded
from scrapers.posts.fences import fenced

_PIPE = re.compile(r"(?<!\\)\|")
_LINE_END = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)


def markdown_of(html: str) -> str:
    """Return what a message's HTML says as markdown of at most `cleaning.LARGEST_TEXT` bytes.

    Whatever comes is read: a parser and a converter that work recursively see only what `bounded_html` lets through.
    """
    tree = BeautifulSoup(bounded(html), "html.parser", element_classes={Tag: _Tag})
    text = _converter().convert_soup(tree)
    return cut_middle(_LINE_END.sub("", without_encoded(clean(text))).strip("\n"))


@cache
def _converter() -> "_Converter":
    """Return the converter, which keeps nothing of what it converts, and takes as long to make as a short text."""
    return _Converter(heading_style=ATX, escape_asterisks=False, escape_underscores=False)


class _Tag(Tag):
    """A tag that looks for its parents by name alone, as the converter does for every tag: a sixth of its time."""

    def find_parent(self, name: Any = None, *_: Any, **__: Any) -> Any:
        return next((parent for parent in self.parents if parent.name == name), None)


class _Converter(MarkdownConverter):
    """markdownify, but for what it writes too simply, or in a time that grows with the square of the length."""

    def convert_br(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return " " if "_inline" in parent_tags else "\n"

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        text = text.strip("\n")
        if not text.strip():
            return ""
        code = el.find("code")
        language = el.get("data-language") or (code.get("data-language") if isinstance(code, Tag) else None)
        return f"\n\n{fenced(text, str(language or ''))}\n\n"

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        number = el.get("data-number")
        bullet = f"{number}. " if number else "- "
        lines = text.strip().split("\n")
        return bullet + ("\n" + " " * len(bullet)).join(lines) + "\n" if text.strip() else "\n"

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        cell = " ".join(_PIPE.sub(r"\|", text).split())
        return f" {cell} |" + " |" * (int(str(el.get("data-columns"))) - 1)

    convert_th = convert_td

    def convert_tr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        # Markdown has no table without a head: the first row is it, as pandas and Kaggle's editor write tables.
        first = el.find_previous_sibling("tr") is None
        columns = sum(int(str(cell.get("data-columns"))) for cell in el.find_all(["td", "th"], recursive=False))
        return f"|{text}\n" + ("|" + " --- |" * columns + "\n" if first else "")
