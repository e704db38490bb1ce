"""HTML cut down to what markdown can say, well-formed and of bounded size, before a parser makes a tree of it.

A parser of HTML takes whatever comes, and what works on its tree works recursively: a million unclosed tags would end in
a tree a million deep. So tags are looked at here one by one, from left to right: a tag is left out, and its text kept,
where it would be the 41st within one another, or the 10,001st; what a browser would close is closed; scripts, styles,
comments, forms and what is hidden go with all that is in them. Every search either moves on or is not repeated, so that
the time grows with the length of the text, of which at most 600,000 characters are read.
"""

import re
from dataclasses import dataclass, field
from html import escape

from scrapers.posts.cleaning import both_ends, clean, without_references
from scrapers.posts.html_attributes import Attributes, safe_address

LARGEST_HTML = 600_000
"""Characters that are read: the two ends of what is longer."""
DEEPEST = 40
DEEPEST_INDENT = 8
"""Lists, quotes and tables within one another: each indents all that is in it."""
MOST_TAGS = 10_000

_TAG = re.compile(
    r"<(/?)([a-zA-Z][a-zA-Z0-9-]{0,30})((?>[^<>\"']++|\"[^\"<]*+\"|'[^'<]*+')*+)>|<!--|<[!?/a-zA-Z][^<>]*>"
)
_SPACE = re.compile(r"[ \t\n\r\f\v\u00a0]+")
_ANNOTATION = re.compile(r"<annotation\b[^<>]*>([^<]*)</annotation")
_RAW = re.compile(r"<[^<>]*>")

# fmt: off
_LIKE_DIV = (
    "address", "article", "aside", "caption", "center", "details", "fieldset", "figcaption", "figure", "footer", "form",
    "header", "hgroup", "main", "nav", "section", "summary",
)
_WITH_CONTENT = frozenset({
    "audio", "button", "canvas", "head", "iframe", "map", "math", "noscript", "object", "script", "select", "style", "svg",
    "template", "textarea", "title", "video",
})
# fmt: on
_RENAMED = {
    **dict.fromkeys(_LIKE_DIV, "div"),
    **{"b": "strong", "i": "em", "strike": "del", "s": "del", "kbd": "code", "samp": "code", "tt": "code"},
}
_INLINE = frozenset({"a", "strong", "em", "code", "del", "q", "sub", "sup"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = _HEADINGS | {"p", "div", "blockquote", "ul", "ol", "dl", "pre", "table", "hr"}
_HOLDERS = frozenset({"ul", "ol", "dl", "table"})
_CELLS = frozenset({"td", "th"})
_TERMS = frozenset({"dt", "dd"})
_ITEMS = _CELLS | _TERMS | {"li", "tr"}
_CLOSES = {
    **dict.fromkeys(_BLOCKS, _HEADINGS | {"p"}),
    **dict.fromkeys(_CELLS, _CELLS),
    **dict.fromkeys(_TERMS, _TERMS),
    **{"li": frozenset({"li"}), "tr": frozenset({"tr"}), "a": frozenset({"a"})},
}
"""What a tag closes if it is open in the same item, or for an item in the same list or table."""
_INDENTING = frozenset({"ul", "ol", "dl", "table", "blockquote"})
_KEPT = _INLINE | _BLOCKS | _ITEMS | {"br"}
_TO_THE_END = frozenset({"script", "style"})
"""Where they are not closed, all that follows is theirs, as a browser reads it."""
_MOST_UNCLOSED = 20


def bounded(html: str) -> str:
    """Return the HTML as a well-formed `<div>` of known tags, images and maths as text; see the module for the bounds."""
    return _Reader(clean(both_ends(html, LARGEST_HTML))).read()


@dataclass
class _Reader:
    """One pass over one text."""

    source: str
    out: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """Tags that are open in what is written, outermost first."""
    left_out: dict[str, int] = field(default_factory=dict)
    """By name, tags that were left out for their depth and wait to be closed."""
    numbers: list[int] = field(default_factory=list)
    """Of each list that is open, the number of its next item; 0 where its items have none."""
    written: int = 0
    unclosed: int = 0
    language: str = ""
    """Of the code that a class of an outer tag has announced."""

    def read(self) -> str:
        """Return what is kept."""
        place = 0
        while match := _TAG.search(self.source, place):
            self._text(self.source[place : match.start()])
            place = self._markup(match)
        self._text(self.source[place:])
        self._close_from(0)
        return f"<div>{''.join(self.out)}</div>"

    def _markup(self, match: re.Match[str]) -> int:
        """Take in one tag, comment or declaration; return where to read on."""
        if match[0] == "<!--":
            end = self.source.find("-->", match.end())
            return len(self.source) if end < 0 else end + 3
        if match[2] is None:
            return match.end()
        written = match[2].lower()
        name = _RENAMED.get(written, written)
        if match[1]:
            self._end(name)
            return match.end()
        attributes = Attributes.of(match[3])
        if name in _WITH_CONTENT or attributes.hidden:
            after = self._element_end(written, match.end())
            if after is not None:
                self._opaque(name, attributes, self.source[match.end() : after])
                return after
        elif name == "img":
            self._text(escape(attributes.image))
        elif name == "input" and attributes.get("type") == "checkbox":
            self._text("[x] " if "checked" in attributes.values else "[ ] ")
        elif name in _KEPT:
            self._start(name, attributes)
            self.language = attributes.language if name == "div" else self.language
        return match.end()

    def _element_end(self, name: str, start: int) -> int | None:
        """Return where an element's content ends, None where it is never closed and so has none."""
        if self.unclosed < _MOST_UNCLOSED:
            depth = 1
            for found in re.compile(rf"<(/?){name}(?=[\s/>])", re.IGNORECASE).finditer(self.source, start):
                depth += -1 if found[1] else int(name not in _WITH_CONTENT)
                if depth == 0:
                    return found.start()
            self.unclosed += 1
        return len(self.source) if name in _TO_THE_END else None

    def _opaque(self, name: str, attributes: Attributes, content: str) -> None:
        """Write what is worth keeping of an element that is not read as HTML: formulas, and where a frame leads."""
        if name == "script" and attributes.get("type").startswith("math/tex"):
            self._formula(content, display="mode=display" in attributes.get("type"))
        elif name == "math":
            annotation = _ANNOTATION.search(content)
            formula = annotation[1] if annotation else _RAW.sub(" ", content)
            self._formula(without_references(formula), display=attributes.get("display") == "block")
        elif name == "iframe" and (address := safe_address(attributes.get("src"))):
            self._text(escape(f" [frame: {address}] "))

    def _formula(self, formula: str, *, display: bool) -> None:
        formula, mark = formula.strip(), "$$" if display else "$"
        if formula:
            self._text(escape(f"{mark}{formula}{mark}", quote=False))

    def _text(self, text: str) -> None:
        if not text:
            return
        if "pre" not in self.open:
            # Long runs of blanks would take what comes after a time that grows with their square.
            text = _SPACE.sub(lambda run: "\n" if "\n" in run[0] else " ", text)
        self.out.append(escape(without_references(text), quote=False))

    def _start(self, name: str, attributes: Attributes) -> None:
        self._close_inner(_CLOSES.get(name, frozenset()))
        indents = sum(one in _INDENTING for one in self.open)
        full = len(self.open) >= DEEPEST or self.written >= MOST_TAGS
        if full or (name in _INDENTING and indents >= DEEPEST_INDENT):
            self.left_out[name] = self.left_out.get(name, 0) + 1
            return
        self.written += 1
        self.out.append(f"<{name}{self._kept_attributes(name, attributes)}>")
        if name in ("br", "hr"):
            return
        self.open.append(name)
        if name in ("ul", "ol"):
            self.numbers.append(attributes.number("start", 1) if name == "ol" else 0)

    def _kept_attributes(self, name: str, attributes: Attributes) -> str:
        if name == "a" and (address := safe_address(attributes.get("href"))):
            return f' href="{escape(address)}"'
        if name in ("pre", "code") and (language := attributes.language or self.language):
            self.language = ""
            return f' data-language="{language}"'
        if name == "li" and self.numbers and self.numbers[-1]:
            self.numbers[-1] += 1
            return f' data-number="{self.numbers[-1] - 1}"'
        if name in ("td", "th"):
            return f' data-columns="{min(attributes.number("colspan", 1), 20)}"'
        return ""

    def _end(self, name: str) -> None:
        if self.left_out.get(name):
            self.left_out[name] -= 1
        elif name in self.open:
            place = len(self.open) - 1 - self.open[::-1].index(name)
            # A stray end tag within a list or a table closes nothing around it.
            if name in _HOLDERS or not _HOLDERS & set(self.open[place + 1 :]):
                self._close_from(place)

    def _close_inner(self, names: frozenset[str]) -> None:
        """Close the innermost open tag of some names and all within it, unless it is outside of the item or list."""
        bounds = _HOLDERS if names <= _ITEMS else _HOLDERS | _ITEMS
        for place in reversed(range(len(self.open))):
            if self.open[place] in names:
                self._close_from(place)
                return
            if self.open[place] in bounds:
                return

    def _close_from(self, place: int) -> None:
        while len(self.open) > place:
            name = self.open.pop()
            self.out.append(f"</{name}>")
            if name in ("ul", "ol"):
                self.numbers.pop()
