"""Where the rows of given ids stand, each to be taken once; equal ids are taken in the order in which they stand."""

from collections.abc import Sequence

TAKEN = -1


class Places:
    """The places of a sequence of ids."""

    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids
        self._free: dict[str, int] = {}
        self._next: dict[int, int] = {}
        for place in range(len(ids) - 1, -1, -1):
            if (later := self._free.get(ids[place])) is not None:
                self._next[place] = later
            self._free[ids[place]] = place

    def take(self, identifier: str) -> int | None:
        """Return the next free place of an id, `TAKEN` where there is none any more, and None for an id that there is not."""
        place = self._free.get(identifier)
        if place is None or place == TAKEN:
            return place
        self._free[identifier] = self._next.pop(place, TAKEN)
        return place

    def first_free(self) -> str | None:
        """Return the first id that has a free place; None: all are taken."""
        return next((one for one in self._ids if self._free[one] != TAKEN), None)
