"""Times that are spread over several columns: year, month and day; a date and the time of day."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from .cell_formats import CellFormat, DateFormat

TIMESTAMP = "timestamp"
"""The name of the joined column."""
_NAMES = {
    "year": ("year", "yr", "yyyy", "jahr", "y"),
    "month": ("month", "mon", "mo", "mnth", "mm", "monat", "m"),
    "day": ("day", "dd", "dom", "tag", "dayofmonth", "d"),
    "hour": ("hour", "hr", "hh", "stunde", "h"),
    "minute": ("minute", "mi"),
    "date": ("date", "datum", "day", "tag", "dteday", "dt"),
    "time": ("time", "uhrzeit", "zeit", "heure", "hora", "hour", "hr", "stunde"),
}
_CLOCK = re.compile(r"(\d{1,2})(?:[:.](\d\d))?(?:[:.](\d\d)(?:\.\d+)?)?(?: ?([AP])M)?", re.IGNORECASE)
_MIN_READ, _FIRST_YEAR = 0.95, 1700
"""Minimum share of rows with a valid time, and the first valid year."""


@dataclass(frozen=True)
class RowTime:
    """The columns that together hold the time of a row."""

    columns: Mapping[str, str]
    """By part: `year` to `minute`; or `date` and `time`."""

    @property
    def name(self) -> str:
        """The column of the joined time: that of the date, or a new one."""
        return self.columns.get("date", TIMESTAMP)

    def join(self, cells: Sequence[str]) -> str:
        """Return the time in ISO 8601 from the cells of its columns; empty if they hold no time."""
        parts = dict(zip(self.columns, cells, strict=True))
        with suppress(ValueError, OverflowError):
            return _moment(parts).isoformat(" ", "seconds")
        return ""


def date_format(formats: Mapping[str, CellFormat], name: str) -> DateFormat | None:
    """Return the date format of a column; None: it holds something else, such as the time of day."""
    cell_format = formats.get(name)
    return cell_format if isinstance(cell_format, DateFormat) else None


def find_row_time(sample: Mapping[str, Sequence[str]], formats: Mapping[str, CellFormat]) -> RowTime | None:
    """Return the columns that together hold times, by names and sampled cells; None: there are none."""
    firsts = (next(filter(None, cells), "") for cells in sample.values())
    has_time = any(len(cell) >= len("2019-04-21 14:03") and DateFormat("iso").reads(cell) for cell in firsts)
    if has_time or any(isinstance(f, DateFormat) and f.has_time for f in formats.values()):
        return None
    by_name = {name.lower().replace("_", ""): name for name in sample}

    def plain(name: str) -> list[str]:
        cell_format = date_format(formats, name)
        return [cell_format.plain(cell) if cell_format and cell else cell for cell in sample[name]]

    for kinds in (("date", "time"), ("year", "month", "day", "hour", "minute")):
        columns = {kind: next((by_name[n] for n in _NAMES[kind] if n in by_name), None) for kind in kinds}
        names = {kind: name for kind, name in columns.items() if name is not None}
        if not {*kinds[:2]} <= names.keys() or len({*names.values()}) < len(names) or TIMESTAMP in sample:
            continue
        row_time = RowTime(names)
        cells = list(zip(*map(plain, names.values()), strict=True))
        times = [row_time.join(row) for row in cells]
        if times and sum(map(bool, times)) >= _MIN_READ * len(times):
            return row_time
    return None


def _moment(parts: Mapping[str, str]) -> datetime:
    """Return the time of these parts; raises ValueError if they make none."""
    if "date" in parts:
        day, match = date.fromisoformat(parts["date"]), _CLOCK.fullmatch(parts["time"].strip() or "0")
        if match is None:
            raise ValueError("not a time of day")
        hour, minute, second = (int(match[number] or 0) for number in (1, 2, 3))
        hour = hour % 12 + 12 * (match[4].upper() == "P") if match[4] else hour
    else:
        month = parts["month"]
        number = int(float(month)) if month[:1].isdigit() else datetime.strptime(month[:3], "%b").month  # noqa: DTZ007
        day = date(int(parts["year"][:4]), number, int(float(parts.get("day", "1"))))
        hour, minute, second = (int(float(parts.get(kind, "0"))) for kind in ("hour", "minute", "second"))
    if day.year < _FIRST_YEAR or hour > 24:
        raise ValueError("not a valid year or hour")
    return datetime.combine(day, time(hour % 24, minute, second)) + timedelta(days=hour // 24)
