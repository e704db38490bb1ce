"""A discussion's text: its title, the opening message, and comments, each of which begins with its author's line.

    # <title>
    (<display name> <TIER: tier>) <markdown>
        + (<display name> <TIER: tier>) <markdown>
            + (<display name> <TIER: tier>) <markdown>

Only the line with the author is indented; the lines of markdown below it are as they were written. So a comment
begins where a line has a whole number of indents, a plus and an author with a tier, no deeper than one level below the
one before; everything else, lists and code included, belongs to the message above. A comment that contains such a line
looks like two: the format cannot distinguish them.
"""

import re
from dataclasses import dataclass

from scrapers.imports.mle_live.values import title_of
from scrapers.snapshots.community import TIERS

_AUTHOR = r"\((?P<name>.{0,200}?) <TIER: ?(?P<tier>[^<>]{0,40})>\)(?: (?P<rest>.*)|)$"
_OPENING = re.compile(_AUTHOR)
_COMMENT = re.compile(rf"(?P<indent>(?: {{4}}){{1,100}})\+ {_AUTHOR}")


@dataclass(frozen=True)
class ThreadMessage:
    """One message of a discussion."""

    author: str | None
    tier: str | None
    markdown: str
    parent: int | None
    """Index of the message that it answers among the discussion's messages; None for the opening one."""


@dataclass(frozen=True)
class Thread:
    """A discussion: the opening message first, each answer after what it answers."""

    title: str | None
    messages: tuple[ThreadMessage, ...]


@dataclass
class _Open:
    """A message whose text may go on."""

    found: re.Match[str] | None
    parent: int | None
    lines: list[str]

    def closed(self) -> ThreadMessage:
        name, tier = (self.found["name"], self.found["tier"].strip()) if self.found else (None, "")
        known = None if tier.upper() in ("", "N/A", "NONE") else TIERS.get(tier, tier.upper())
        return ThreadMessage(title_of(name), known, "\n".join(self.lines).strip("\n"), self.parent)


def read_thread(text: str) -> Thread | None:
    """Return the discussion that a text holds; None if it holds none.

    Args:
        text: with newline line ends.
    """
    lines = text.lstrip("\n").rstrip().split("\n")
    title = None
    if lines[0].startswith("# "):
        title = title_of(lines[0][2:])
        del lines[0]
    if not any(line.strip() for line in lines):
        return None
    found = _OPENING.match(lines[0])
    messages = [_Open(found, None, [found["rest"] or ""] if found else [lines[0]])]
    path = [0]  # the last message and those it answers, outermost first
    for line in lines[1:]:
        found = _COMMENT.match(line)
        depth = len(found["indent"]) // 4 if found else 0
        if found is None or depth > len(path):
            messages[-1].lines.append(line)
            continue
        del path[depth:]
        messages.append(_Open(found, path[-1], [found["rest"] or ""]))
        path.append(len(messages) - 1)
    return Thread(title, tuple(one.closed() for one in messages))
