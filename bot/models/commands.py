"""Shell commands in replies: fenced blocks, written and read back."""

import re
from collections.abc import Sequence

from bot.models.fences import FENCE, Block, ends_inside_text, fenced_blocks, is_shell, lines_of

_CARRIAGE = re.compile(r"\r+(?=\n|\Z)")
_BACKTICKS = re.compile(r"`{3,}")


def command_in(text: str) -> str | None:
    """Return the command of a reply: its fenced `sh` (or `bash`, `shell`, `zsh`) blocks, joined in order by newlines.

    A block that is never closed, or in which another opens, is not a command, as its end is missing. A fence inside a
    here-document closes and opens nothing.

    Returns:
        None if there is no closed block.
    """
    lines = lines_of(text)
    commands = [block.code(lines) for block in _blocks(lines) if is_shell(block.language) and _is_whole(block, lines)]
    return "\n".join(commands) if commands else None


def prose_and_command(text: str) -> tuple[str, str] | None:
    """Return the text around a reply's only shell block, and the block's command.

    Returns:
        None unless there is exactly one shell block, and it is closed.
    """
    lines = lines_of(text)
    shells = [block for block in _blocks(lines) if is_shell(block.language)]
    if len(shells) != 1 or shells[0].end is None or not _is_whole(shells[0], lines):
        return None
    around = ("\n".join(lines[: shells[0].opened]).strip(), "\n".join(lines[shells[0].end + 1 :]).strip())
    return "\n\n".join(part for part in around if part), shells[0].code(lines)


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
    opening = FENCE.match(line)
    return opening["fence"] if opening and is_shell(opening["info"].split(" ")[0]) else line


def _blocks(lines: Sequence[str]) -> list[Block]:
    return list(fenced_blocks(lines, lambda language, code: is_shell(language) and ends_inside_text(language, code)))


def _is_whole(block: Block, lines: Sequence[str]) -> bool:
    """Return whether a block of a shell has an end of its own, before another block opens."""
    code = lines[block.opened + 1 : block.end]
    fences = ((number, FENCE.match(line)) for number, line in enumerate(code))
    inner = (number for number, fence in fences if fence and fence["fence"].startswith(block.fence))
    return block.end is not None and all(ends_inside_text(block.language, code[:number]) for number in inner)
