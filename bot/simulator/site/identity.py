"""The 64-bit numbers that stand for a snapshot's rows on the wire."""

import hashlib
from collections.abc import Iterable
from itertools import count
from typing import Literal

Kind = Literal["topic", "message", "kernel", "user", "team", "competition", "forum", "dataset", "session"]

_DERIVED = 1 << 60
"""Derived numbers lie from here to twice this, where there are no real ids."""


def wire_id(kind: Kind, identifier: str) -> int:
    """Return the number that always stands for an id of a snapshot.

    An id that is a number stands for itself; for another one, a number is derived from its kind and text. A kernel's id
    is its `ref`, a user's the author's name.
    """
    if identifier.isascii() and identifier.isdecimal() and str(int(identifier)) == identifier:
        number = int(identifier)
        if 0 < number < _DERIVED:
            return number
    return _derived(f"{kind}/{identifier}")


class Numbers:
    """The numbers of one site: no two rows share one, even if rows of two competitions have the same id."""

    def __init__(self) -> None:
        self._taken: set[tuple[Kind, int]] = set()

    def give(self, kind: Kind, competition: str, identifiers: Iterable[str]) -> dict[str, int]:
        """Return the number of each of a competition's rows, and reserve them.

        It is that of `wire_id`, unless an earlier competition's row has it: then it is derived from the slug, too.
        """
        numbers: dict[str, int] = {}
        for identifier in identifiers:
            number, tries = wire_id(kind, identifier), count()
            while (kind, number) in self._taken:
                number = _derived(f"{kind}/{competition}/{identifier}/{next(tries)}")
            self._taken.add((kind, number))
            numbers[identifier] = number
        return numbers


def _derived(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return _DERIVED + int.from_bytes(digest, "big") % _DERIVED
