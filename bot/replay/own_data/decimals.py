"""Numbers with a decimal comma (`3.063,38`), as tables from much of Europe have them, read with a decimal point."""

import re
from collections.abc import Iterable, Sequence

_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:[. \u00a0\u202f]\d{3})+|\d+)(?:,\d+)?")
"""Perhaps with points or spaces between thousands. predict.py.txt has the same."""
_EITHER = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""A comma that may as well part thousands: 1,234."""
_THOUSANDS = str.maketrans({".": "", " ": "", "\u00a0": "", "\u202f": "", ",": "."})
_SHARE = 0.99
"""Of a column's filled cells, at least so many are numbers; others hold no digit (`n/a`)."""


def columns_with_commas(header: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the columns whose numbers have decimal commas.

    One cell at least must leave no doubt: a column in which all commas may part thousands is not one of them.

    Args:
        header: the names.
        rows: the first rows of a table whose cells are not separated by commas, each as long as the header.
    """
    places = dict.fromkeys(range(len(header)), False)
    filled, numbers = [0] * len(header), [0] * len(header)
    for cells in rows:
        for place in list(places):
            cell = cells[place].strip()
            if _COMMA.fullmatch(cell):
                numbers[place] += 1
                places[place] |= "," in cell and _EITHER.fullmatch(cell) is None
            elif any(map(str.isdigit, cell)):
                del places[place]
                continue
            filled[place] += cell != ""
    return tuple(header[at] for at, sure in places.items() if sure and numbers[at] >= _SHARE * filled[at])


def with_point(cell: str) -> str:
    """Return a number with a decimal point in place of the comma, and nothing between thousands; other cells as they are."""
    stripped = cell.strip()
    return stripped.translate(_THOUSANDS) if _COMMA.fullmatch(stripped) else cell
