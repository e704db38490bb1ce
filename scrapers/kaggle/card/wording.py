"""Written language made comparable: markup, links, dashes and accents taken away, cut into sentences."""

import html
import re
import unicodedata

_LINK = re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|<?https?://[^\s>)]+>?")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>")
_STRUCK = re.compile(r"~~.{1,1000}?~~|<(del|s|strike)\b[^<>]{0,200}>.{0,1000}?</\1>", re.DOTALL | re.IGNORECASE)
_DISPLAY = re.compile(
    r"\$\$.{1,3000}?\$\$|\\{1,2}\[.{1,3000}?\\{1,2}\]|\\begin\{(?:equation|align)\*?\}.{1,3000}?\\end\{(?:equation|align)\*?\}",
    re.DOTALL,
)
_INLINE = re.compile(r"(?<![\\$])\$(?![\d\s,.$])([^$\n]{1,300}?)(?<![\s\\])\$(?!\d)|\\{1,2}\((.{1,300}?)\\{1,2}\)")
_BARE = re.compile(r"^[^\n]*\\(?:frac|sum|sqrt|text\{)[^\n]*$", re.MULTILINE)
_CODE = re.compile(r"`+([^`\n]*)`+")
_HEAVY = re.compile(r"\\(?:frac|sum|sqrt|int|prod)")
_DASHES = re.compile(r"[-_\u2010-\u2015\u2212\u00ad]+")
_QUOTES = re.compile("['\"\u2018\u2019\u201c\u201d\u00b4]")
_ABBREVIATIONS = {"e.g.": "eg", "i.e.": "ie", "vs.": "vs", "etc.": "etc", "cf.": "cf", "approx.": "approx"}
_END = re.compile(r"(?<=[.!?;])\s+|(?<=:)\s+(?=\S)|\n+")
_NEGATIONS = (
    (re.compile(r"\bwon'?t\b"), "will not"),
    (re.compile(r"\bcan'?t\b|\bcannot\b"), "can not"),
    (re.compile(r"\b(is|are|was|were|do|does|did|has|have|had|would|should|could)n'?t\b"), r"\1 not"),
)


def visible(markdown: str) -> str:
    """Return what a reader sees of marked-up text: links' words without addresses, no tags, nothing that is struck out.

    A short formula such as `$R^2$` is a word; a long one is left out.
    """
    text = _DISPLAY.sub(" ", _STRUCK.sub(" ", markdown))
    text = _INLINE.sub(lambda match: _spoken(match[1] or match[2] or ""), text)
    text = _BARE.sub(" ", text)
    for _ in range(2):  # a picture within a link
        text = _LINK.sub(lambda match: match[1] or " ", text)
    return html.unescape(_TAG.sub(" ", text))


def formulas(markdown: str) -> list[str]:
    """Return the longer formulas, as they were typed."""
    found = [match[0] for match in _DISPLAY.finditer(markdown)]
    rest = _DISPLAY.sub(" ", markdown)
    found += [match[0] for match in _INLINE.finditer(rest)]
    found += [match[0] for match in _BARE.finditer(_INLINE.sub(" ", rest))]
    return [formula for formula in found if _HEAVY.search(formula)]


def comparable(text: str, columns: frozenset[str] = frozenset()) -> str:
    """Return visible text in lower case without marks, dashes or quotes; `columns` in code marks are no words."""
    text = _CODE.sub(lambda match: " codespan " if match[1].strip() in columns else f" {match[1]} ", text)
    text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    text = re.sub(r"[*~#>|]+", " ", text).lower()
    for pattern, plain in _NEGATIONS:
        text = pattern.sub(plain, text)
    text = _DASHES.sub(" ", _QUOTES.sub("", text))
    return " ".join(text.split())


def sentences(text: str) -> list[str]:
    """Cut visible text at full stops, colons, semicolons and line ends."""
    for written, plain in _ABBREVIATIONS.items():
        text = text.replace(written, plain)
    return [part for part in (piece.strip() for piece in _END.split(text)) if part]


def uncamel(text: str) -> str:
    """Return words that stand together apart: `MulticlassLoss` as `Multiclass Loss`, `ROCAUCScore` as `ROCAUC Score`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})", " ", text)


def _spoken(formula: str) -> str:
    if _HEAVY.search(formula) or len(formula) > 60:
        return " "
    plain = re.sub(r"\\(?:text|mathrm|mathit|mathbf|operatorname|rm)\b", "", formula)
    plain = re.sub(r"\\([A-Za-z]+)", r"\1", plain)
    return re.sub(r"[{}\\$]", "", plain)
