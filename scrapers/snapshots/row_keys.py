"""What tells a submission's rows apart, as one text: the id, or several columns together, and of equal ones which it is."""

from collections import Counter
from collections.abc import Sequence

_JOINT = "\x1f"
_REPEATED = "\x1e"


def row_key(cells: Sequence[str]) -> str:
    """Return the cells of the id and of further key columns as one text; a single one is itself."""
    return cells[0] if len(cells) == 1 else _JOINT.join(cells)


def shown_key(key: str) -> str:
    """Return a key as a sentence can hold it."""
    return key.replace(_JOINT, ", ").replace(_REPEATED, ", repeated: ")


class Repeats:
    """Tells equal keys apart by their order: the first is itself, the others have their number."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def numbered(self, key: str) -> str:
        """Return a name for this row that no other of the same table has."""
        self._seen[key] += 1
        times = self._seen[key]
        return key if times == 1 else f"{key}{_REPEATED}{times}"
