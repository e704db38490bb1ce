"""Splits a competition's text by its headings, whatever their form, and assigns each section a topic."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Topic = Literal["evaluation", "submission", "overview", "data", "other"]

FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
ITEM = re.compile(r"^\s*(?:[*+-]|\d+[.)])\s+")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s*(\S.*?)\s*#*\s*$")
RULE = re.compile(r"^\s{0,3}(?:=+|-{3,})\s*$")
_BOLD = re.compile(r"^\s*(?:\*\*|__)([^*_]{2,80})(?:\*\*|__)\s*:?\s*$")
_LEVEL_OF_BOLD = 7

_TOPICS: tuple[tuple[Topic, re.Pattern[str]], ...] = (
    (
        "other",
        re.compile(
            r"prize|award|timeline|citation|cite|acknowledg|rules|efficiency|code requirement|faq|host|sponsor|about the(?! data)"
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
class Section:
    """A heading and the lines below it, up to the next heading of any level."""

    titles: tuple[str, ...]
    """The headings above it, its own last; empty for text before the first one."""
    topic: Topic
    level: int
    """The heading's level: 1 to 6 as in HTML, 7 for a bold line, 0 for none."""
    lines: tuple[str, ...]
    """Below the heading, as they were written."""


def topic_of(heading: str) -> Topic | None:
    """Return the topic that a heading announces; None if it names none."""
    words = re.sub(r"[^\w ]", " ", heading.lower()).strip()
    return next((topic for topic, pattern in _TOPICS if pattern.search(words)), None)


def sections(text: str) -> list[Section]:
    """Split markdown; a section whose heading names no topic has that of the section above it.

    A heading may also be underlined, a bold line, or a usual title alone on a line.
    """
    ancestors: list[tuple[int, str, Topic]] = [(0, "", "overview")]
    sections_so_far: list[Section] = []
    lines: list[str] = []
    paragraph: list[str] = []
    fence = ""

    def close() -> None:
        titles = tuple(title for _, title, _ in ancestors[1:])
        if titles or any(line.strip() for line in lines):
            sections_so_far.append(Section(titles, ancestors[-1][2], ancestors[-1][0], tuple(lines)))
        lines.clear()

    for line in text.splitlines():
        fence_match = FENCE.match(line)
        heading = None if fence or fence_match else _heading(line, paragraph)
        if heading is None:
            lines.append(line)
            if fence_match:
                fence = "" if fence and fence_match[1].startswith(fence) else fence or fence_match[1]
            plain = line.strip() and not fence_match and not fence and not RULE.match(line)
            paragraph = [*([] if ITEM.match(line) else paragraph), line] if plain else []
            continue
        if RULE.match(line):
            lines.pop()
        close()
        level, title = heading
        while len(ancestors) > 1 and ancestors[-1][0] >= level:
            ancestors.pop()
        ancestors.append((level, title, topic_of(title) or ancestors[-1][2]))
        paragraph = []
    close()
    return sections_so_far


def _heading(line: str, paragraph: Sequence[str]) -> tuple[int, str] | None:
    if match := _HEADING.match(line):
        return len(match[1]), match[2].strip("*_ ")
    if len(paragraph) == 1 and RULE.match(line):
        return 2, paragraph[0].strip()
    if match := _BOLD.match(line):
        return _LEVEL_OF_BOLD, match[1].strip()
    if not paragraph and _PLAIN_HEADINGS.fullmatch(line.strip()):
        return 1, line.strip()
    return None
