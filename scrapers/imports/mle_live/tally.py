"""Remarks of an import on single files and entries: reasons, the count of each, and a few examples."""

from collections import Counter
from dataclasses import dataclass

MOST_EXAMPLES = 3
"""Names kept for each reason."""
_LONGEST_EXAMPLE = 80
"""Characters of one."""


@dataclass(frozen=True)
class Reason:
    """A reason for leaving something out or changing it, its count, and a few examples."""

    text: str
    count: int
    examples: tuple[str, ...]

    def __str__(self) -> str:
        more = " …" if self.count > len(self.examples) else ""
        return f"{self.count:,} {self.text} ({', '.join(self.examples)}{more})"


class Tally:
    """Counts reasons in the order of their first occurrence."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}

    def add(self, text: str, example: str) -> None:
        """Count a reason once more.

        Args:
            text: the reason, to be read after a number, such as `kernels without a text`.
            example: the file or entry that it applies to.
        """
        self._counts[text] += 1
        examples = self._examples.setdefault(text, [])
        if len(examples) < MOST_EXAMPLES:
            examples.append(example if len(example) <= _LONGEST_EXAMPLE else f"{example[:_LONGEST_EXAMPLE]}…")

    @property
    def reasons(self) -> tuple[Reason, ...]:
        """All reasons so far."""
        return tuple(Reason(text, count, tuple(self._examples[text])) for text, count in self._counts.items())
