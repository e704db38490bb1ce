"""What probably went wrong in a prediction file, as the end of a sentence; empty where nothing is obvious."""

import re
from collections.abc import Sequence

from bot.evaluation.csv_rows import short
from scrapers.snapshots.tables import read_number

_SEPARATORS = ((";", "semicolons"), ("\t", "tabs"), ("|", "bars"))
_LONGEST = 200
"""Characters of a cell that are looked at."""
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+(e[-+]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[-+]?\d{1,3}([, '’\u00a0]\d{3})+(\.\d*)?")
_WHOLE = re.compile(r"([-+]?\d+)\.0*")


def of_header(header: Sequence[str], wanted: Sequence[str], ids: Sequence[str], seems: str | None) -> str:
    """Say why a header may lack columns, or have too many."""
    if seems is not None:
        return f"the file seems to be {seems}"
    if len(header) == 1 and len(wanted) > 1:
        for separator, named in _SEPARATORS:
            if separator in header[0]:
                return f"cells are to be separated by commas, not {named}"
    missing = sorted(set(wanted).difference(header), key=wanted.index)
    near = {_plain(column): column for column in header}
    for column in missing:
        if (found := near.get(_plain(column))) is not None:
            return f"its column {short(found)} is not written like {short(column)}"
    if len(missing) == len(wanted) and header[0] in set(ids):
        return f"its first line is a row (id {short(header[0])}), not the header"
    return _of_extra(header, missing)


def _of_extra(header: Sequence[str], missing: Sequence[str]) -> str:
    if missing:
        return ""
    if header[0] in ("", "Unnamed: 0", "index"):
        return "the first column looks like a table's index (pandas: index=False)"
    return "its header ends with a comma" if header[-1] == "" else ""


def of_width(row: Sequence[str], width: int) -> str:
    """Say why a row may have more or fewer cells than the header."""
    if len(row) == width + 1 and row[-1] == "":
        return "it ends with a comma"
    if len(row) > width and all(cell.strip().lstrip("+-").isdigit() for cell in row[-2:]):
        return "it may hold a decimal comma, or one between thousands"
    if len(row) == 1:
        for separator, named in _SEPARATORS:
            if separator in row[0]:
                return f"cells are to be separated by commas, not {named}"
    return ""


def of_id(identifier: str, ids: Sequence[str]) -> str:
    """Say why an id may not be among the sample's, with which it is compared as text."""
    if len(identifier) > _LONGEST:
        return ""
    known, text = set(ids), identifier
    if text.strip() in known:
        return f"the sample has it without blanks, {short(text.strip())}"
    whole = _WHOLE.fullmatch(text.strip())
    if whole and whole[1] in known:
        return f"it is written as a decimal number where the sample has {short(whole[1])}"
    near = {_plain(one): one for one in known if len(one) <= _LONGEST}
    if (found := near.get(_plain(text))) is not None:
        return f"the sample has {short(found)}"
    if (value := _as_number(text)) is not None:
        same = next((one for one in ids if _as_number(one) == value), None)
        if same is not None:
            return f"the sample writes this number as {short(same)}"
    return ""


def of_number(text: str) -> str:
    """Say why a cell may not be a number."""
    cell = text[:_LONGEST].strip()
    if cell.lower() in ("true", "false"):
        return "truth values are to be written as 1 and 0"
    if cell.endswith("%"):
        return "percentages are to be written as shares"
    if cell[:2].lower() == "0x":
        return "it is to be written in decimal"
    if _DECIMAL_COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell):
        return "the decimal mark is a point, and thousands have no mark"
    return "a quote in it may never be closed" if "\n" in cell else ""


def _plain(text: str) -> str:
    return text[:_LONGEST].strip().strip("\ufeff\"'").casefold()


def _as_number(text: str) -> float | None:
    return read_number(text) if len(text) <= _LONGEST else None
