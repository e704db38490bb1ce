"""Fenced blocks of a reply, whose own strings and here-documents may hold fences that close nothing."""

import re
import tokenize
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*?)[ \t\r]*$")
_SHELLS = ("sh", "bash", "shell", "zsh")
_HEREDOC = re.compile(r"(?<!<)<<(?!<)-?[ \t]*(?P<quote>['\"]?)\\?(?P<word>\w+)(?P=quote)")
_COMMAND = re.compile(
    r"(?mi)^ {0,3}[`~]{3}|\{\s*[\"'][\w .-]+[\"']\s*:|[<\[✿][|｜:\w]*(?:tool|function|invoke|action|py)"
)
"""Signs of what would be run or read."""
_RETRACTION = re.compile(
    r"(?i)\W*(?:oh,? |but |and )?(?:wait[,.!…]+(?! then)|hmm+\b|oops|scratch that|hold on|never ?mind|on second thought|等等|不对"
    r"|no[,.!…]+ (?:wait|that|this|it|i|better|not|do)\b)"
)
"""Words right after code by which a model takes it back."""
_MOST_FENCES = 50
"""Fences that are tried as a block's end: each takes a look at all of the block before it."""


@dataclass(frozen=True)
class Block:
    """A block by its lines: `opened` holds the opening fence, `end` the closing one, None if it is never closed."""

    fence: str
    language: str
    opened: int
    end: int | None

    def code(self, lines: Sequence[str]) -> str:
        """Return the text between the fences, without the margin of the opening one, as in a list."""
        margin = re.compile(f" {{0,{lines[self.opened].index(self.fence)}}}")
        return "\n".join(margin.sub("", line, count=1) for line in lines[self.opened + 1 : self.end])


def lines_of(text: str) -> list[str]:
    """Return a reply's lines, whatever ends them."""
    return text.replace("\r\n", "\n").split("\n")


def fenced_blocks(
    lines: Sequence[str], is_inside: Callable[[str, Sequence[str]], bool], otherwise: int = 0
) -> Iterator[Block]:
    """Yield the blocks in order; one that is never closed is the last.

    `is_inside` says of a language and the first lines of a block whether a fence after them stands within a text. A block in
    which all do ends at the fence of the number `otherwise`.
    """
    position = 0
    while position < len(lines):
        opening = FENCE.match(lines[position])
        if opening is None:
            position += 1
            continue
        fence, language, start = opening["fence"], opening["info"].split(" ")[0].lower(), position + 1
        closing = (number for number in range(start, len(lines)) if _closes(lines[number], fence))
        bare = list(islice(closing, None if otherwise < 0 else _MOST_FENCES))
        outside = (number for number in bare[:_MOST_FENCES] if not is_inside(language, lines[start:number]))
        end = next(outside, bare[otherwise] if bare else None)
        yield Block(fence, language, position, end)
        if end is None:
            return
        position = end + 1


def _closes(line: str, fence: str) -> bool:
    bare = FENCE.match(line)
    return bare is not None and not bare["info"] and bare["fence"].startswith(fence)


def end_of_block(text: str, start: int) -> int:
    """Return where the block ends whose opening fence stands at `start`, in characters."""
    lines = text[start:].split("\n")
    closing = next(fenced_blocks(lines, ends_inside_text)).end
    return start + len("\n".join(lines[: None if closing is None else closing + 1]))


def without_retracted_blocks(text: str) -> str:
    """Return a text without the blocks that it takes back in words right after them."""
    lines = text.split("\n")
    for block in reversed([*fenced_blocks(lines, ends_inside_text)]):
        next_lines = [] if block.end is None else lines[block.end + 1 : block.end + 4]
        if _RETRACTION.match(next((line for line in next_lines if line.strip()), "")):
            del lines[block.opened : (block.end or 0) + 1]
    return "\n".join(lines)


def command_finder(text: str) -> Callable[[int, int], bool]:
    """Return a function that says whether something to run or read begins between two places of a text."""
    places = [command.start() for command in _COMMAND.finditer(text)]
    return lambda begin, end: bisect_left(places, begin) < bisect_left(places, end)


def is_shell(language: str) -> bool:
    """Return whether a block's language is that of a shell."""
    return language.lower() in _SHELLS


def ends_inside_text(language: str, code: Sequence[str]) -> bool:
    """Return whether lines of code end within a here-document, or in languages other than a shell's in a triple-quoted string."""
    return _ends_in_here_document(code) if is_shell(language) else _ends_in_string(code)


def _ends_in_here_document(code: Sequence[str]) -> bool:
    awaited: list[str] = []
    for line in code:
        if not awaited:
            awaited = [heredoc["word"] for heredoc in _HEREDOC.finditer(line)]
        elif line.strip() == awaited[0]:
            awaited.pop(0)
    return bool(awaited)


def _ends_in_string(code: Sequence[str]) -> bool:
    try:
        list(tokenize.generate_tokens((f"{line}\n" for line in code).__next__))
    except tokenize.TokenError as error:
        # "EOF in multi-line string" in Python 3.11, "unterminated triple-quoted string literal" in later ones.
        return "multi-line string" in str(error) or "triple-quoted" in str(error)
    except SyntaxError:
        pass
    return False
