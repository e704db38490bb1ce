"""Shell commands in replies: fenced blocks, written and read back."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*?)[ \t\r]*$")
_SHELLS = ("sh", "bash", "shell")
_HEREDOC = re.compile(r"(?<!<)<<(?!<)-?[ \t]*(?P<quote>['\"]?)\\?(?P<word>\w+)(?P=quote)")
_CARRIAGE = re.compile(r"\r+(?=\n|\Z)")
_BACKTICKS = re.compile(r"`{3,}")


@dataclass(frozen=True)
class _Block:
    """A fenced block by its lines: `opened` holds the opening fence, `end` the closing one, None if it is never closed."""

    fence: str
    shell: bool
    opened: int
    end: int | None


def command_in(text: str) -> str | None:
    """Return the command of a reply: its fenced `sh` (or `bash`, `shell`) blocks, joined in order by newlines.

    A block that is never closed is no command, as its end is missing. A fence inside a here-document closes nothing.

    Returns:
        None if there is no closed block.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    found = ["\n".join(lines[b.opened + 1 : b.end]) for b in _blocks(lines) if b.shell and b.end is not None]
    return "\n".join(found) if found else None


def prose_and_command(text: str) -> tuple[str, str] | None:
    """Return the text around a reply's only shell block, and the block's command.

    Returns:
        None unless there is exactly one shell block, and it is closed.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    shells = [block for block in _blocks(lines) if block.shell]
    if len(shells) != 1 or shells[0].end is None:
        return None
    opened, end = shells[0].opened, shells[0].end
    around = ("\n".join(lines[:opened]).strip(), "\n".join(lines[end + 1 :]).strip())
    return "\n\n".join(part for part in around if part), "\n".join(lines[opened + 1 : end])


def with_command(prose: str, command: str) -> str:
    """Return a reply's text from which `command_in` reads exactly this command, with Unix line ends."""
    command = _CARRIAGE.sub("", command)
    fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(command)), default=0))
    before = without_command(prose.strip())
    return f"{before}\n\n{fence}sh\n{command}\n{fence}".lstrip("\n")


def without_command(prose: str) -> str:
    """Return prose whose shell blocks are unmarked and all closed, so that `command_in` finds no command."""
    lines = [_plain(line) for line in _CARRIAGE.sub("", prose).split("\n")]
    still_open = [block.fence for block in _blocks(lines) if block.end is None]
    return "\n".join([*lines, *still_open])


def _plain(line: str) -> str:
    """Return the line, without the language if it opens a shell block."""
    found = _FENCE.match(line)
    return found["fence"] if found and _is_shell(found["info"]) else line


def _is_shell(info: str) -> bool:
    return info.split(" ")[0].lower() in _SHELLS


def _blocks(lines: list[str]) -> Iterator[_Block]:
    """Yield the fenced blocks in order; one that is never closed is the last."""
    position = 0
    while position < len(lines):
        opening = _FENCE.match(lines[position])
        if opening is None:
            position += 1
            continue
        fence, shell = opening["fence"], _is_shell(opening["info"])
        end = _closing(lines, position + 1, fence, shell=shell)
        yield _Block(fence, shell, position, end)
        if end is None:
            return
        position = end + 1


def _closing(lines: list[str], start: int, fence: str, *, shell: bool) -> int | None:
    """Return the line that closes a block: the first bare fence outside a here-document, or else the first bare fence."""
    first: int | None = None
    awaited: list[str] = []
    for index in range(start, len(lines)):
        line = lines[index]
        found = _FENCE.match(line)
        if found and not found["info"] and found["fence"].startswith(fence):
            if not awaited:
                return index
            first = index if first is None else first
        elif awaited:
            if line.strip() == awaited[0]:
                awaited.pop(0)
        elif shell:
            awaited = [heredoc["word"] for heredoc in _HEREDOC.finditer(line)]
    return first
