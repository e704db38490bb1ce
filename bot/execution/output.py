"""A run's output for a coder: without progress bars and colours, bounded, the error that matters first."""

import re

from sandbox.output import plain_text

OUTPUT_CHARACTERS = 6_000
_ERROR_CHARACTERS = 2_500
_LINE_CHARACTERS = 400

# One digit, not `\d+`: on a megabyte of digits the time would grow with its square.
_PROGRESS = re.compile(r"\d%\s*\|.*\||\[[=>#.\s-]{8,}\]|/\d{1,12} \[=|it/s[\],]|s/it[\],]")
_TRACEBACK = "Traceback (most recent call last):"


def clean_output(text: str) -> str:
    """Return a run's output in at most about `OUTPUT_CHARACTERS`.

    The last traceback comes first, as a repair needs it; then the rest, with its middle cut.
    """
    lines = _readable_lines(text)
    error = _last_traceback(lines)
    if not error:
        return _cut_middle("\n".join(lines), OUTPUT_CHARACTERS)
    error_text = _cut_middle("\n".join(error), _ERROR_CHARACTERS)
    before = "\n".join(lines[: len(lines) - len(error)] if lines[-len(error) :] == error else lines)
    if not before.strip():
        return error_text
    return f"{error_text}\n\n[earlier output]\n{_cut_middle(before, OUTPUT_CHARACTERS - len(error_text))}"


def _readable_lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in map(str.rstrip, plain_text(text).split("\n")):
        if _PROGRESS.search(line):
            continue
        if len(line) > _LINE_CHARACTERS:
            lines.append(f"{line[:_LINE_CHARACTERS]} [{len(line) - _LINE_CHARACTERS} more characters]")
        elif line or (lines and lines[-1]):
            lines.append(line)
    return lines


def _last_traceback(lines: list[str]) -> list[str]:
    starts = [i for i, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    if not starts:
        return []
    end = starts[-1] + 1
    while end < len(lines) and (lines[end].startswith((" ", "\t")) or not lines[end]):
        end += 1
    # The line after the frames is the exception itself; its message may have further lines.
    return lines[starts[-1] : min(len(lines), end + 12)]


def _cut_middle(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[-half:]}"
