"""The findings of a check: problems with their places, limited in number."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from state.errors import Problem

MOST_OF_A_KIND = 50
"""Most problems of one kind and file that are listed; the rest is counted (a broken file may have millions)."""


class Problems:
    """Collects problems; of each kind in a file at most `MOST_OF_A_KIND` are kept, the others counted."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, file: str, message: str, line: int | None = None, *, kind: str = "") -> None:
        """Note one problem of a file, named relative to the snapshot; a rule that it may break on many lines is a `kind`."""
        if kind:
            self._counts[file, kind] += 1
            if self._counts[file, kind] > MOST_OF_A_KIND:
                return
        self._problems.append(Problem(file, line, message))

    @contextmanager
    def reading(self, file: str) -> Iterator[None]:
        """Turn a file system error within the block into a problem of that file."""
        try:
            yield
        except OSError as error:
            self.add(file, f"cannot be read: {error.strerror or error}")

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All problems so far, with one line for each kind that was cut short."""
        cut = (
            Problem(file, None, f"and {count - MOST_OF_A_KIND:,} more of this kind ({kind})")
            for (file, kind), count in self._counts.items()
            if count > MOST_OF_A_KIND
        )
        return (*self._problems, *cut)


def json_object(data: bytes, file: str, line: int | None, problems: Problems) -> dict[str, Any] | None:
    """Return the JSON object that a file, or one line of it from 1, holds; None, with the reason in `found`, if none."""
    try:
        content = json.loads(data.decode("utf-8"))
    except json.JSONDecodeError as error:
        problems.add(file, f"is not JSON: {error.msg} (character {error.colno})", line or error.lineno, kind="JSON")
        return None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number of thousands of digits, absurd nesting
        problems.add(file, f"cannot be read as UTF-8 JSON: {type(error).__name__}", line, kind="JSON")
        return None
    if not isinstance(content, dict):
        problems.add(file, "is not a JSON object", line, kind="JSON")
        return None
    return content
