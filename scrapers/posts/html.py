"""A message's HTML as clean markdown: code with its language, tables, links, lists and formulas; images as words.

BeautifulSoup parses any input, and markdownify walks its tree recursively: therefore tags nested more than 40 deep, and
those after the first 10,000, are left out, but their text is kept. Scripts, styles, comments, forms and hidden elements
are removed with their content.
"""

import re
from functools import cache
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from bs4 import BeautifulSoup
from bs4.element import Tag
from markdownify import ATX, MarkdownConverter

from scrapers.posts.cleaning import both_ends, clean, cut_middle, fenced, possible_references, without_encoded

LARGEST_HTML = 600_000
"""Most characters that are read; of a longer text the two ends."""
DEEPEST = 40
MOST_TAGS = 10_000
_LONGEST_ADDRESS = 2_000
_LONGEST_ALT = 300
_MOST_COLUMNS = 20

_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = ("p", "div", "blockquote", "ul", "ol", "dl", "pre", "table", "hr", *_HEADINGS)
_CLOSES = {
    **dict.fromkeys(_BLOCKS, ("p", *_HEADINGS)),
    **dict.fromkeys(("td", "th"), ("p", "td", "th")),
    **dict.fromkeys(("dt", "dd"), ("p", "dt", "dd")),
    **{"li": ("p", "li"), "tr": ("p", "td", "th", "tr")},
}
"""Tags that an opening tag closes, as in a browser."""
_TRANSPARENT = {"thead", "tbody", "tfoot"}
# fmt: off
_DROPPED_TAGS = {
    "audio", "button", "canvas", "head", "iframe", "map", "math", "noscript", "object", "script", "select", "style", "svg",
    "template", "textarea", "title", "video",
}
# fmt: on

# On long runs of blanks the patterns that follow would take quadratic time.
_BLANKS = re.compile(r"[ \t\n\f\v\u00a0]{100,}")
_UNSEEN = re.compile(r"display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|brush)[-:]([A-Za-z0-9+#]{1,20})")
_HIGHLIGHTERS = {"hljs", "prettyprint", "sourcecode", "highlight", "code"}
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,30}:")
_TRACKING = re.compile(r"(?:utm_\w{1,30}|gclid|fbclid|msclkid|mc_cid|mc_eid|_hsenc|_hsmi|igshid)(?:=|$)")
_PIPE = re.compile(r"(?<!\\)\|")
_LINE_END = re.compile(r"(?<![ \t])[ \t]++$", re.MULTILINE)


def markdown_of(html: str) -> str:
    """Return a message's HTML as markdown of at most `cleaning.LARGEST_TEXT` bytes."""
    html = possible_references(clean(both_ends(html, LARGEST_HTML)))
    html = _BLANKS.sub(lambda run: "\n" if "\n" in run[0] else " ", html)
    # Within a tag, so that BeautifulSoup does not warn of a text that is a path or an address.
    tree = _Tree(f"<div>{html}</div>", "html.parser", element_classes={Tag: _Tag})
    text = _converter().convert_soup(tree).replace("\u00a0", " ")
    return cut_middle(_LINE_END.sub("", without_encoded(clean(text))).strip())


class _Tree(BeautifulSoup):
    """A tree of bounded depth and size, in which unclosed items and paragraphs do not nest."""

    tags = 0

    def handle_starttag(self, name: str, *args: Any, **kwargs: Any) -> Tag | None:
        while self.currentTag is not None and self.currentTag.name in _CLOSES.get(name, ()):
            self.handle_endtag(self.currentTag.name)
        self.tags += 1
        if name in _TRANSPARENT or len(self.tagStack) > DEEPEST or self.tags > MOST_TAGS:
            return None
        return super().handle_starttag(name, *args, **kwargs)


class _Tag(Tag):
    """A tag that searches its parents by name alone; the converter does so for every tag, and this takes a sixth of the time."""

    def find_parent(self, name: Any = None, *_: Any, **__: Any) -> Any:
        return next((parent for parent in self.parents if parent.name == name), None)


@cache
def _converter() -> "_Converter":
    """Return the converter, which is stateless, and as slow to create as a short text is to convert."""
    return _Converter(heading_style=ATX, escape_asterisks=False, escape_underscores=False)


class _Converter(MarkdownConverter):
    """markdownify, except where its output is too simple or its time quadratic."""

    def process_tag(self, node: Tag, parent_tags: Any = None) -> str:
        words = _in_words(node)
        return str(super().process_tag(node, parent_tags)) if words is None else words  # type: ignore[misc]

    def convert_a(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        el.attrs = {"href": safe_address(str(el.get("href", "")))}
        return str(super().convert_a(el, text, parent_tags))  # type: ignore[misc]

    def convert_br(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return " " if "_inline" in parent_tags else "\n"

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        text = text.strip("\n")
        holders = (el, el.find("code"), el.parent)
        language = next(
            (language_name for holder in holders if isinstance(holder, Tag) and (language_name := _language(holder))),
            "",
        )
        return f"\n\n{fenced(text, language)}\n\n" if text.strip() else ""

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        bullet = "- "
        if el.parent is not None and el.parent.name == "ol":
            number = _number(el.parent, "start", 1)
            el.parent["start"] = str(number + 1)
            bullet = f"{number}. "
        lines = text.strip().split("\n")
        return bullet + ("\n" + " " * len(bullet)).join(lines) + "\n" if text.strip() else "\n"

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        cell = " ".join(_PIPE.sub(r"\|", text).split())
        return f" {cell} |" + " |" * (_columns(el) - 1)

    convert_th = convert_td

    def convert_tr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        # Markdown tables need a header: the first row, as in tables of pandas and Kaggle's editor.
        first = el.find_previous_sibling("tr") is None
        columns = sum(_columns(cell) for cell in el.find_all(["td", "th"], recursive=False))
        return f"|{text}\n" + ("|" + " --- |" * columns + "\n" if first else "")


def _in_words(tag: Tag) -> str | None:
    """Return the replacement of a tag with its content, empty if it is removed; None: it is converted as HTML."""
    kind = str(tag.get("type", ""))
    if tag.name == "script" and kind.startswith("math/tex"):
        return _formula(tag.get_text(), display="mode=display" in kind)
    if tag.name == "math":
        return _formula((tag.find("annotation") or tag).get_text(), display=tag.get("display") == "block")
    if tag.name == "iframe" and (address := safe_address(str(tag.get("src", "")))):
        return f" [frame: {address}] "
    if tag.name == "img":
        return _image(tag)
    if tag.name == "input" and kind == "checkbox":
        return "[x] " if tag.has_attr("checked") else "[ ] "
    return "" if tag.name in _DROPPED_TAGS or _is_hidden(tag) else None


def _formula(formula: str, *, display: bool) -> str:
    mark = "$$" if display else "$"
    return f"{mark}{formula.strip()}{mark}" if formula.strip() else ""


def _image(tag: Tag) -> str:
    """Return an image's description; empty for a tracking pixel."""
    if {"0", "1"} & {tag.get("width"), tag.get("height")}:
        return ""
    alt = " ".join(str(tag.get("alt") or tag.get("title") or "").split())[:_LONGEST_ALT]
    return f"[image: {alt.replace(']', ')').replace('[', '(')}]" if alt else "[image]"


def _is_hidden(tag: Tag) -> bool:
    """Whether a tag's content is not shown to a reader, or shown by other means, as with drawn formulas."""
    return (
        tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or any(name.startswith("MathJax") for name in _classes(tag))
        or _UNSEEN.search(str(tag.get("style", ""))) is not None
    )


def _classes(tag: Tag) -> list[str]:
    return [name for name in tag.get_attribute_list("class") if name]


def _language(tag: Tag) -> str:
    """Return the language of code named by a class; empty if none is."""
    names = _classes(tag)
    for name in names:
        if match := _LANGUAGE.fullmatch(name):
            return match[1].lower()
    words = [name.lower() for name in names if name.lower() not in _HIGHLIGHTERS]
    is_language = len(words) < len(names) and words and re.fullmatch(r"[a-z0-9+#]{1,20}", words[0])
    return words[0] if is_language else ""


def _columns(cell: Tag) -> int:
    return min(_number(cell, "colspan", 1), _MOST_COLUMNS)


def _number(tag: Tag, name: str, default: int) -> int:
    value = str(tag.get(name, ""))
    return int(value) if re.fullmatch(r"[0-9]{1,6}", value) else default


def safe_address(address: str) -> str:
    """Return an address fit for markdown, without tracking parameters; empty if it is neither a page nor a mailbox."""
    address = re.sub(r"\s+", "", address)
    scheme = _SCHEME.match(address)
    if len(address) > _LONGEST_ADDRESS or (scheme and scheme[0].lower() not in ("http:", "https:", "mailto:")):
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    query_parts = [part for part in parts.query.split("&") if not _TRACKING.match(part)]
    address = urlunsplit(parts._replace(query="&".join(query_parts))) if parts.query else address
    return re.sub(r"[()<>\"\\]", lambda match: f"%{ord(match[0]):02X}", address)
