"""Which 64-bit number on the wire stands for which row of a snapshot."""

import hashlib
from collections.abc import Iterable
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
    digest = hashlib.blake2b(f"{kind}/{identifier}".encode(), digest_size=8).digest()
    return _DERIVED + int.from_bytes(digest, "big") % _DERIVED


def numbered(kind: Kind, identifiers: Iterable[str]) -> dict[int, str]:
    """Return the way back: from each number on the wire to the snapshot's id."""
    return {wire_id(kind, identifier): identifier for identifier in identifiers}
