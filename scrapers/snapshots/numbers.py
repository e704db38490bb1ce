"""The number that a cell of somebody else's table spells, by what it looks like."""


def read_number(text: str) -> float | None:
    """Return the number a text spells, blanks around it aside; None where it spells none.

    NaN and infinity count as numbers. `float()` also reads `0013_01` as 1301 and takes the digits of other scripts, which no
    other reader of tables does.
    """
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None
