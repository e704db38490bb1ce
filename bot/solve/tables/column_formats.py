"""Detect columns of numbers and dates, and their formats, from sampled cells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from .cell_formats import (
    DECIMAL_COMMA,
    DURATION,
    NA_WORDS,
    PLAIN,
    PLAIN_NUMBER,
    SCALED,
    THOUSANDS,
    CellFormat,
    DateFormat,
    NumberFormat,
    bare_number,
)

_DAYS = (
    *("%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%m/%d/%y", "%d/%m/%y", "%d.%m.%Y", "%d.%m.%y", "%Y.%m.%d"),
    *("%Y-%m-%d", "%m-%d-%Y", "%d-%m-%Y", "%d-%b-%Y", "%d-%b-%y", "%d %b %Y", "%b %d, %Y", "%a %b %d %Y"),
)
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%YM%m", "%b-%Y", "%b-%y", "%b %Y", "%Y-%b", "%Y %b")
_HOURS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", ", %I:%M %p", "T%H:%M:%S")
_LOGS = ("%a %b %d %H:%M:%S %z %Y", "%a, %d %b %Y %H:%M:%S %z", "%d/%b/%Y:%H:%M:%S %z")
_FORMS = tuple(
    DateFormat(form) for form in (*(day + hour for day in _DAYS for hour in _HOURS), *_MONTHS, *_LOGS, "quarter")
)
"""Formats besides ISO 8601; the first that reads all cells is used."""
_ZONE = re.compile(r"(?:Z|[A-Z]{3,4}|:\d\d(?:\.\d+)? ?[-+]\d\d(?::?\d\d)?)$")
_TIME_NAME = re.compile(
    r"(?:^|[\W_])(?:date|datum|day|dt|ds|ts|time|timestamp|datetime|epoch|unix)$|(?:date|time|timestamp)(?:_?ms)?$",
    re.IGNORECASE,
)
_DATE_NAME = re.compile(r"date|datum|fecha", re.IGNORECASE)
_YEAR_NAME, _YEAR = re.compile(r"year|jahr|yr", re.IGNORECASE), re.compile(r"1[7-9]\d\d|20\d\d")
_BARE_DATE, _UNIX = re.compile(r"(?:19|20)\d{6}"), re.compile(r"1\d{9}(?:\d{3})?(?:\.\d+)?")
_EXCEL = re.compile(r"[2-5]\d{4}(?:\.\d+)?")
"""A day number of Excel between 1954 and 2064."""
_POINTED = re.compile(r"[-+]?(?:\d{1,3}|[1-9]\d{0,2}(?:\.\d{3})+)")
"""A whole number whose points may separate thousands: 1.234."""
_AMBIGUOUS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
"""A comma that may separate thousands or decimals: 1,234."""
_WITH_UNIT = re.compile(r"[-+]?\d[\d.,' ]*?(?: ([^\W\d_][\w²³/%]{0,11})|([^\W\d_][\w²³/]{1,5}))", re.IGNORECASE)
_NO_UNITS = frozenset(("am", "pm", "st", "nd", "rd", "th"))
_MIN_NUMBERS, _MIN_NUMBER_SHARE, _MAX_WORDS = 10, 0.85, 5
"""Limits for numbers among words: distinct numbers (twice as many if whole), their share of cells, and distinct words."""
_DECIMAL_COMMAS, _WITH_THOUSANDS = NumberFormat(",", ".' "), NumberFormat(".", ",' ")


def column_formats(
    columns: Mapping[str, Sequence[str]], delimiter: str
) -> tuple[dict[str, CellFormat], dict[str, str]]:
    """Return the formats of columns of numbers and dates, from sampled cells, and doubts by column, in clauses.

    The comma of `1,234` and the point of `1.234` may separate thousands or decimals, and 1/2/2019 may be in January or February.
    Other cells of the column decide; then other columns; then the separator of cells, as one other than a comma suggests
    decimal commas.
    """
    formats: dict[str, CellFormat] = {}
    doubts: dict[str, str] = {}
    dates = dict[str, tuple[DateFormat, DateFormat | None]]()
    unsure, pointed = list[str](), list[str]()
    has_decimal_commas = has_points = False
    for name, column in columns.items():
        cells = [bare_number(cell) for cell in column if cell and cell.lower() not in NA_WORDS]
        if (number_format := _number_format(cells)) is not None:
            is_plain = number_format is PLAIN
            is_pointed = is_plain and all(map(_POINTED.fullmatch, cells)) and any("." in cell for cell in cells)
            is_unsure = number_format == _WITH_THOUSANDS and _is_ambiguous(cells)
            unsure += [name] * is_unsure
            pointed += [name] * is_pointed
            has_decimal_commas |= number_format.decimal == ","
            has_points |= is_plain and not is_pointed and any("." in cell for cell in cells)
            if number_format.unit == ":":
                doubts[name] = f"`{name}` is read as a number: {cells[0]} as {number_format.plain(cells[0])}"
            dated = _bare_dates(name, cells) if is_plain else None
            formats[name] = dated or (_WITH_THOUSANDS if is_plain and not {*cells} <= {*column} else number_format)
        elif (date_forms := _dates(cells)) is not None:
            dates[name] = date_forms
        elif (mixed := _among_words(column)) is not None:
            formats[name], doubts[name] = mixed[0], f"`{name}` holds numbers; {mixed[1]}"
    if has_decimal_commas or (delimiter != "," and not has_points and not pointed):
        formats |= dict.fromkeys(unsure, _DECIMAL_COMMAS)
    if has_decimal_commas and not has_points:
        formats |= dict.fromkeys(pointed, _DECIMAL_COMMAS)
    orders = {f.form[:2] for f, second_form in dates.values() if second_form is None and f.swapped is not None}
    for name, (form, second_form) in dates.items():
        is_day_first = orders == {"%d"} or (not orders and (has_decimal_commas or delimiter == ";"))
        formats[name] = second_form if second_form is not None and is_day_first and form.form.startswith("%m") else form
        if second_form is not None:
            cells = [cell for cell in columns[name] if cell and cell.lower() not in NA_WORDS]
            example = next(cell for cell in cells if form.read(cell) != second_form.read(cell))
            read = formats[name].plain(example)
            doubts[name] = f"the order of day and month in `{name}` is ambiguous: {example} was read as {read}"
    return formats, doubts


def _number_format(cells: Sequence[str]) -> NumberFormat | None:
    """Return the number format of cells without currencies; None: some are not numbers."""
    if not cells:
        return None
    if all(map(PLAIN_NUMBER.fullmatch, cells)):
        return PLAIN
    if all(THOUSANDS.fullmatch(cell) or PLAIN_NUMBER.fullmatch(cell) for cell in cells):
        return _WITH_THOUSANDS
    if all(map(DECIMAL_COMMA.fullmatch, cells)):
        return _DECIMAL_COMMAS
    if all(map(SCALED.fullmatch, cells)):
        return NumberFormat(scaled=True, thousands=",")
    if all(map(DURATION.fullmatch, cells)):
        return NumberFormat(thousands=" ", unit=":")
    matches = [_WITH_UNIT.fullmatch(cell) for cell in cells]
    units = {(match[1] or match[2]).lower() for match in matches if match}
    unit = min(units, default="", key=len)
    if None in matches or not units <= {unit, f"{unit}s"} - _NO_UNITS:
        return None
    numbers = [re.sub(rf" *{re.escape(unit)}s?$", "", cell, flags=re.IGNORECASE) for cell in cells]
    number_format = _number_format(numbers)
    return number_format and NumberFormat(number_format.decimal, number_format.thousands or ",' ", unit=unit)


def _is_ambiguous(cells: Sequence[str]) -> bool:
    """Whether every comma may also separate decimals."""
    commas = [cell for cell in cells if "," in cell]
    if not commas or not all(map(_AMBIGUOUS.fullmatch, commas)) or any("." in cell for cell in cells):
        return False
    without_commas = [cell.lstrip("+-") for cell in cells if "," not in cell]
    return not without_commas or any(len(cell) > 3 for cell in without_commas)


def _among_words(column: Sequence[str]) -> tuple[NumberFormat, str] | None:
    """Return the number format of a column with a few words, and how these are read; None: it is not such a column."""
    full_cells = [cell for cell in column if cell and cell.lower() not in NA_WORDS]
    for number_format in (replace(_WITH_THOUSANDS, words=True), replace(_DECIMAL_COMMAS, words=True)):
        plain = {cell: number_format.plain(cell) for cell in full_cells}
        words = [cell for cell, number in plain.items() if not number]
        min_numbers = _MIN_NUMBERS if any("." in number for number in plain.values()) else 2 * _MIN_NUMBERS
        are_codes = any(map(str.isdigit, "".join(words)))  # 136A
        if are_codes or len(plain) - len(words) < min_numbers or len(words) > _MAX_WORDS:
            continue
        if sum(plain[cell] != "" for cell in full_cells) >= _MIN_NUMBER_SHARE * len(full_cells):
            limit = next((f"{cell} is read as {plain[cell]}" for cell in plain if cell[0] in "<>≤≥~"), "")
            missing = f"{', '.join(words)} {'is' if len(words) == 1 else 'are'} read as missing" if words else ""
            return number_format, "; ".join(filter(None, (missing, limit)))
    return None


def _dates(cells: Sequence[str]) -> tuple[DateFormat, DateFormat | None] | None:
    """Return the date format of cells, and a second, equally likely one; None: some are not dates, or all plain ISO 8601."""
    if not cells or not cells[0][:1].isalnum() or not any(map(str.isdigit, cells[0])):
        return None
    iso = DateFormat("iso")
    if all(map(iso.reads, cells)):
        is_uniform = len({len(cell) for cell in cells}) == 1 and not any(map(_ZONE.search, cells))
        return None if is_uniform else (iso, None)
    for form in _FORMS:
        if not all(map(form.reads, cells)):
            continue
        swapped = form.swapped
        if swapped is None or not all(map(swapped.reads, cells)):
            return form, None
        times, swapped_times = ([read.read(cell) for cell in cells] for read in (form, swapped))
        if times == swapped_times:
            return form, None
        counts = [len({re.split(r"[/.-]", cell)[part] for cell in cells}) for part in (0, 1)]
        if 1 in counts and max(counts) > 1 and not form.has_time:  # monthly: the day is always the same
            return (form if form.form.startswith("%d") == (counts[0] == 1) else swapped), None
        in_order, swapped_in_order = _is_in_order(times), _is_in_order(swapped_times)
        if in_order and swapped_in_order and form.has_time:  # the one without leaps
            step, swapped_step = _longest_step(times), _longest_step(swapped_times)
            in_order, swapped_in_order = step <= swapped_step, swapped_step <= step
        if in_order != swapped_in_order:
            return (form if in_order else swapped), None
        return form, swapped
    return None


def _is_in_order(times: Sequence[datetime]) -> bool:
    return all(a <= b for a, b in pairwise(times)) or all(a >= b for a, b in pairwise(times))


def _longest_step(times: Sequence[datetime]) -> timedelta:
    return max((abs(b - a) for a, b in pairwise(times)), default=timedelta())


def _bare_dates(name: str, cells: Sequence[str]) -> DateFormat | None:
    """Return the format of times in digits alone, if the column is named like a time: 20190421, Unix times, years in order."""
    if _YEAR_NAME.fullmatch(name) and len(set(cells)) == len(cells) > 1 and all(map(_YEAR.fullmatch, cells)):
        year = DateFormat("%Y")
        return year if _is_in_order([year.read(cell) for cell in cells]) else None
    if _DATE_NAME.search(name) and all(map(_EXCEL.fullmatch, cells)):
        return DateFormat("excel")
    if _TIME_NAME.search(name) is None:
        return None
    if all(map(_UNIX.fullmatch, cells)):
        return DateFormat("unix")
    bare = DateFormat("%Y%m%d")
    return bare if all(_BARE_DATE.fullmatch(cell) and bare.reads(cell) for cell in cells) else None
