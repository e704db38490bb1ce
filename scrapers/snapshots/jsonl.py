"""JSON Lines read line by line into typed rows; every bad line is named and left out."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from scrapers.snapshots.fields import sentences
from scrapers.snapshots.found import Found

LONGEST_LINE = 64_000_000
"""Bytes; a longer line is refused instead of being held in memory."""

RowT = TypeVar("RowT", bound=BaseModel)


def read_rows(path: Path, name: str, row: type[RowT], found: Found) -> Iterator[tuple[int, RowT]]:
    """Yield (line number from 1, row) for each good line of the file; blank lines are skipped.

    Args:
        path: the file; if it is absent, nothing is yielded.
        name: how problems call the file.
        row: the model of one line.
        found: receives each mistake with its line.
    """
    if not path.is_file():
        return
    with found.reading(name), path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
            if len(line) > LONGEST_LINE:
                found.add(name, f"the line is longer than {LONGEST_LINE:,} bytes; the rest is not read", number)
                return
            if not line.strip():
                continue
            content = _parse(line, name, number, found)
            if content is None:
                continue
            try:
                yield number, row.model_validate(content)
            except ValidationError as error:
                for sentence in sentences(error):
                    found.add(name, sentence, number, kind="fields")


def _parse(line: bytes, name: str, number: int, found: Found) -> dict[str, object] | None:
    try:
        content = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        found.add(name, f"is not UTF-8 at byte {error.start + 1} of the line", number, kind="encoding")
        return None
    except json.JSONDecodeError as error:
        found.add(name, f"is not JSON: {error.msg} (character {error.pos + 1})", number, kind="JSON")
        return None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, absurd nesting
        found.add(name, f"is not JSON that can be read: {type(error).__name__}", number, kind="JSON")
        return None
    if not isinstance(content, dict):
        found.add(name, "is not a JSON object", number, kind="JSON")
        return None
    return content
