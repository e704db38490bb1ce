"""A competition's pages taken apart: paragraphs, headings and code, each with what it is about."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from scrapers.cleaner import Cleaners, Source
from scrapers.cleaning import clean, cut_middle
from scrapers.kaggle.competitions import Page

__all__ = ["Block", "Topic", "blocks", "description_of", "in_markdown"]

Topic = Literal["evaluation", "submission", "overview", "data", "other"]

_BLOCK_TAG = re.compile(r"<(?:p|div|h[1-6]|ul|ol|table|pre|section|article|blockquote)\b", re.IGNORECASE)
_MARKDOWN = re.compile(r"^(?:#{1,6}\s*\S|```|[*+-] \S|\d+\. \S)", re.MULTILINE)
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s*(\S.*?)\s*#*\s*$")
_UNDERLINE = re.compile(r"^\s{0,3}(?:=+|-{3,})\s*$")
_BOLD = re.compile(r"^\s*(?:\*\*|__)([^*_]{2,80})(?:\*\*|__)\s*:?\s*$")
_ITEM = re.compile(r"^\s*(?:[*+-]|\d+[.)])\s+")
_LEVEL_OF_BOLD = 7
_TYPE = "text/markdown"
_LONGEST_PAGE = 300_000
"""Characters; whatever comes after them is not read."""

_TOPICS: tuple[tuple[Topic, re.Pattern[str]], ...] = (
    (
        "other",
        re.compile(
            r"prize|award|timeline|citation|cite|acknowledg|rules|efficiency|code requirement|faq|host|sponsor|about the"
        ),
    ),
    (
        "submission",
        re.compile(
            r"submi\w+ (?:file|format|instruction|template)|sample submission|(?:file|output) format|^submissions?$"
        ),
    ),
    ("evaluation", re.compile(r"evaluat|metric|scoring|^score$|judging|leaderboard")),
    (
        "data",
        re.compile(
            r"^data\b|dataset|data (?:description|field|file)|^files?\b|^columns?\b|file description|^fields?\b"
        ),
    ),
    (
        "overview",
        re.compile(
            r"overview|description|^goal|^task|getting started|introduction|background|problem|tutorial|start here"
        ),
    ),
)
_PLAIN_HEADINGS = re.compile(
    r"(?:overview|description|evaluation(?: metric)?|metric|goal|submission(?: file| format)?|acknowledge?ments?|timeline|prizes"
    r"|citation|rules|data(?:set)?(?: description)?|(?:data |file )?(?:fields|files|descriptions?))\s*:?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Block:
    """A paragraph, a list's item, a heading, or a stretch of code, in markdown."""

    page: str
    """The page's name, in lower case."""
    topic: Topic
    kind: Literal["heading", "text", "code"]
    text: str


async def in_markdown(pages: Sequence[Page], cleaners: Cleaners) -> tuple[Page, ...]:
    """Return pages with their content in markdown, whether it came as HTML or not; scripts and comments are gone."""
    html = [page for page in pages if _is_html(page)]
    texts = iter(await cleaners.clean([Source("html", page.content[:_LONGEST_PAGE]) for page in html]))
    return tuple(
        page.model_copy(update={"content": next(texts).text if _is_html(page) else _plain(page), "mime_type": _TYPE})
        for page in pages
    )


def _is_html(page: Page) -> bool:
    text, kind = page.content[:_LONGEST_PAGE], page.mime_type.lower()
    return "html" in kind or ("markdown" not in kind and bool(_BLOCK_TAG.search(text)) and not _MARKDOWN.search(text))


def _plain(page: Page) -> str:
    return _without_comments(clean(page.content[:_LONGEST_PAGE]))


def _without_comments(text: str) -> str:
    kept, place = [], 0
    while (start := text.find("<!--", place)) >= 0:
        kept.append(text[place:start])
        end = text.find("-->", start)
        place = len(text) if end < 0 else end + 3
    return " ".join([*kept, text[place:]])


def description_of(pages: Sequence[Page]) -> str:
    """Return what agents are told of the task, by pages in markdown: what it is, how it is scored, what the data is."""
    parts = []
    for wanted in ("description", "evaluation", "data-description"):
        for page in pages:
            if page.name.lower() == wanted and (text := page.content.strip()):
                titled = (
                    text
                    if text.startswith("#")
                    else f"# {page.post_title or wanted.replace('-', ' ').capitalize()}\n\n{text}"
                )
                parts.append(re.sub(r"\n{3,}", "\n\n", titled))
    return cut_middle("\n\n".join(parts))


def blocks(page: Page) -> list[Block]:
    """Take a page in markdown apart."""
    name = page.name.lower().strip()
    headings: list[tuple[int, Topic]] = [(0, _topic(name.replace("-", " ")) or "overview")]
    found: list[Block] = []
    for kind, level, text in _pieces(page.content.splitlines()):
        if kind == "heading":
            while len(headings) > 1 and headings[-1][0] >= level:
                headings.pop()
            headings.append((level, _topic(text.lower()) or headings[-1][1]))
        found.append(Block(name, headings[-1][1], kind, text))
    return found


def _topic(heading: str) -> Topic | None:
    heading = re.sub(r"[^\w ]", " ", heading).strip()
    return next((topic for topic, pattern in _TOPICS if pattern.search(heading)), None)


def _pieces(lines: Sequence[str]) -> Iterator[tuple[Literal["heading", "text", "code"], int, str]]:
    """Yield kind, level of a heading, and text."""
    paragraph: list[str] = []
    fence: str | None = None
    code: list[str] = []
    for line in [*lines, ""]:
        opened = _FENCE.match(line)
        if fence is not None:
            if opened and opened[1].startswith(fence):
                yield "code", 0, "\n".join(code).rstrip()
                fence, code = None, []
            else:
                code.append(line)
            continue
        heading = _heading(line, paragraph)
        if paragraph and (not line.strip() or opened or heading or _ITEM.match(line)):
            if not (heading and _UNDERLINE.match(line)):
                yield "text", 0, "\n".join(paragraph)
            paragraph = []
        if opened:
            fence = opened[1]
        elif heading:
            yield "heading", heading[0], heading[1]
        elif line.strip() and not _UNDERLINE.match(line):
            paragraph.append(line)
    if code:  # a fence that nobody closed
        yield "code", 0, "\n".join(code).rstrip()


def _heading(line: str, paragraph: Sequence[str]) -> tuple[int, str] | None:
    if match := _HEADING.match(line):
        return len(match[1]), match[2].strip("*_ ")
    if len(paragraph) == 1 and _UNDERLINE.match(line):
        return 2, paragraph[0].strip()
    if match := _BOLD.match(line):
        return _LEVEL_OF_BOLD, match[1].strip()
    if not paragraph and _PLAIN_HEADINGS.fullmatch(line.strip()):
        return 1, line.strip()
    return None
