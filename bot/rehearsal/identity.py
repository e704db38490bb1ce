"""Which 64-bit number on the wire stands for which row of a snapshot."""

import hashlib
from collections.abc import Iterable
from itertools import count
from typing import Literal

Kind = Literal["topic", "message", "kernel", "user", "team", "competition", "forum"]

_DERIVED = 1 << 60
"""Derived numbers are from here to twice this, where no real id lies."""


def wire_id(kind: Kind, identifier: str) -> int:
    """Return the number that stands for an id of a snapshot, always the same.

    An id that is a number already stands for itself; another one becomes a number derived from its kind and text.

    Args:
        kind: what it is an id of.
        identifier: the row's `id`; of a kernel its `ref`, of a user the author's name.
    """
    if identifier.isascii() and identifier.isdecimal() and str(int(identifier)) == identifier:
        number = int(identifier)
        if 0 < number < _DERIVED:
            return number
    return _derived(f"{kind}/{identifier}")


class Numbers:
    """The numbers of one site: no two of its rows have the same, nor do two competitions' rows that have the same id."""

    def __init__(self) -> None:
        self._taken: set[tuple[Kind, int]] = set()

    def give(self, kind: Kind, competition: str, identifiers: Iterable[str]) -> dict[str, int]:
        """Return the number of each of a competition's rows, and keep them from those that come later.

        It is that of `wire_id`, unless an earlier competition's row has it: then one that the slug is part of.

        Args:
            kind: what they are ids of.
            competition: whose; its slug.
            identifiers: the rows' ids.
        """
        given: dict[str, int] = {}
        for identifier in identifiers:
            number, tries = wire_id(kind, identifier), count()
            while (kind, number) in self._taken:
                number = _derived(f"{kind}/{competition}/{identifier}/{next(tries)}")
            self._taken.add((kind, number))
            given[identifier] = number
        return given


def _derived(text: str) -> int:
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return _DERIVED + int.from_bytes(digest, "big") % _DERIVED
