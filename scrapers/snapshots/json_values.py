"""JSON values that follow each other or make up one array, read one by one in bounded memory."""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

_CHUNK = 1 << 16
_LONGEST = 1 << 28
"""Most characters of one value; a file without the end of a value within so many is not a table."""
_BLANK = " \t\r\n"
_BETWEEN = {False: re.compile(r"[ \t\r\n]*"), True: re.compile(r"[ \t\r\n,]*")}
"""What may stand before a value; in an array, and elsewhere."""


def json_values(file: TextIO, longest: int = _LONGEST) -> Iterator[tuple[str, Any]]:
    """Yield the values of an array, or a sequence of values, with their texts; one has at most `longest` characters.

    The file is read in chunks.

    Raises:
        ValueError: it is not JSON, or a value is too long.
        RecursionError: absurd nesting.
    """
    decoder, text, step = json.JSONDecoder(), file.read(_CHUNK).lstrip(_BLANK), _CHUNK
    array = text.startswith("[")
    between, position = _BETWEEN[array], int(array)
    while True:
        position = between.match(text, position).end()  # type: ignore[union-attr]  # it matches nothing, too
        if array and text.startswith("]", position):
            return
        try:
            value, end = decoder.raw_decode(text, position)
        except ValueError:
            end = len(text)
            if end - position > longest:
                raise
        if end < len(text):
            yield text[position:end], value
            position, step = end, _CHUNK
            continue
        chunk = file.read(step)
        if not chunk:
            if position < len(text):
                value, end = decoder.raw_decode(text, position)
                yield text[position:end], value
            return
        # Twice as much each time, so that a long record is not parsed again for every chunk.
        text, position, step = text[position:] + chunk, 0, 2 * step


def json_cell(value: Any) -> str:
    """Return a value as a table's cell: a text as it is, an empty cell for null, anything else as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
