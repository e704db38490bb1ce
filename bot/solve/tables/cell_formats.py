"""How the cells of a column spell numbers and dates."""

import functools
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

NA_WORDS = frozenset(
    ("na", "n/a", "#n/a", "nan", "null", "none", "nil", "<na>", "?", "-", "--", ".", "..", "missing", "unknown")
)
"""Missing values among numbers, in lower case."""
PLAIN_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?inf(?:inity)?", re.IGNORECASE)
DECIMAL_COMMA = re.compile(r"[-+]?(?:\d{1,3}(?:[. ']\d{3})+|\d+)(?:,\d*)?(?:[eE][-+]?\d+)?|[-+]?,\d+")
THOUSANDS = re.compile(r"[-+]?(?:\d{1,3}(?:[,' ]\d{2,3})*[,' ]\d{3}|\d+)(?:\.\d*)?|[-+]?\.\d+")
SCALED = re.compile(r"([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?)([kKMB])?")
"""A number, perhaps in thousands, millions or billions: 1.2k."""
_SCALES = {"k": 1_000, "K": 1_000, "M": 1_000_000, "B": 1_000_000_000}
_CURRENCY = r"(?:(?:US|CA|AU|A|C|R|S)?\$|[€£¥₹₽₩₺₪]|USD|EUR|GBP|CHF|INR|PLN|SEK|NOK|DKK|BRL|Rs\.?|[Kk]r\.?|zł)"
_MARKS = re.compile(rf"^([-+(]?)\s*{_CURRENCY}\s*|\s*(?:{_CURRENCY}|%)\s*(\)?)$")
_SPACES = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-", "\u2013": "-", "\x1a": None, "\u2019": "'"}
)
_BOUND = re.compile(r"[<>≤≥~] *=? *(?=[-+]?\.?\d)")
"""The sign before a detection limit: <0.1."""
DURATION = re.compile(r"\d{1,3}(?::[0-5]\d){1,2}(?:\.\d+)?")
_WORD = re.compile(r"[^\W\d_]{3,}\.?")
_MONTHS = {
    **dict.fromkeys(("ene", "gen"), "Jan"), **dict.fromkeys(("fev", "fév"), "Feb"),
    **dict.fromkeys(("mär", "maa", "mrt"), "Mar"), **dict.fromkeys(("abr", "avr"), "Apr"),
    **dict.fromkeys(("mai", "mag", "mei"), "May"), **dict.fromkeys(("ago", "aoû"), "Aug"),
    **dict.fromkeys(("okt", "ott", "out"), "Oct"), **dict.fromkeys(("dez", "dic", "déc"), "Dec"),
    "giu": "Jun", "lug": "Jul", "set": "Sep",
}  # fmt: skip
"""First letters of months in German, French, Spanish, Italian, Portuguese and Dutch that differ from English."""
_QUARTER = re.compile(r"(\d{4})[-: ]?Q([1-4])|Q([1-4])[-/ ]?(\d{4})", re.IGNORECASE)
_ZONE_NAME, _BEFORE_OFFSET = re.compile(r" ?(?:[A-Z]{3,4}|Z)$"), re.compile(r" (?=[+-]\d\d:?\d\d$)")


@dataclass(frozen=True)
class NumberFormat:
    """How a column writes its numbers."""

    decimal: str = "."
    thousands: str = ""
    """Characters that separate groups of digits."""
    scaled: bool = False
    """Whether letters stand for thousands, millions and billions."""
    unit: str = ""
    """The unit after each number; a colon: hours, minutes and seconds."""
    words: bool = False
    """Whether a cell without a number counts as missing, and <0.1 as 0.1."""

    def plain(self, cell: str) -> str:
        """Return a number as `1234.5`, a missing value as an empty string, and any other text unchanged."""
        if cell.strip().lower() in NA_WORDS:
            return ""
        number = bare_number(_BOUND.sub("", cell) if self.words else cell)
        if self.unit == ":" and DURATION.fullmatch(number):
            return f"{functools.reduce(lambda total, part: 60 * total + float(part), number.split(':'), 0.0):g}"
        if self.unit:
            number = re.sub(rf" *{re.escape(self.unit)}s?$", "", number, flags=re.IGNORECASE)
        if self.scaled and (match := SCALED.fullmatch(number)):
            return f"{float(match[1].replace(',', '')) * _SCALES.get(match[2], 1):.12g}"
        if not (DECIMAL_COMMA if self.decimal == "," else THOUSANDS).fullmatch(number):
            return number if PLAIN_NUMBER.fullmatch(number) else "" if self.words else cell
        for mark in self.thousands:
            number = number.replace(mark, "")
        return number.replace(self.decimal, ".")


PLAIN = NumberFormat()


@dataclass(frozen=True)
class DateFormat:
    """How a column writes its dates."""

    form: str
    """A format of `strptime`, or a key of `_READERS`."""

    def plain(self, cell: str) -> str:
        """Return a date in ISO 8601, a missing value as an empty string, and any other text unchanged."""
        if cell.strip().lower() in NA_WORDS:
            return ""
        try:
            date = self.read(cell.strip())
        except (ValueError, OverflowError, OSError):
            return cell
        return date.isoformat(" ", "seconds") if self.has_time else str(date.date())

    @property
    def has_time(self) -> bool:
        """Whether the format includes the time of day."""
        return self.form in ("unix", "iso") or "%H" in self.form or "%I" in self.form

    def read(self, text: str) -> datetime:
        """Return the time in a cell, in UTC if it has a zone; raises ValueError if the cell holds no such time."""
        if self.form in _READERS:
            return _READERS[self.form](text)
        if self.form.startswith("%d.%m.%y") and len(text) < len("21.04.19"):
            raise ValueError("a version, such as 1.4.19")
        text = in_english(text) if "%b" in self.form or self.form == "%Y-%m-%d" else text
        return _without_zone(datetime.strptime(text, self.form))  # noqa: DTZ007 (as the table has it)

    def reads(self, text: str) -> bool:
        """Whether a cell holds a time in this format."""
        with suppress(ValueError, OverflowError, OSError):
            self.read(text)
            return True
        return False

    @property
    def swapped(self) -> "DateFormat | None":
        """The format with day and month in the other order; None: it has no other order."""
        match = re.match(r"(%m|%d)([-/.])(%m|%d)", self.form)
        return DateFormat(f"{match[3]}{match[2]}{match[1]}{self.form[5:]}") if match else None


CellFormat = NumberFormat | DateFormat


def _iso(text: str) -> datetime:
    if text.isdigit():
        raise ValueError("a bare number")
    return _without_zone(datetime.fromisoformat(_BEFORE_OFFSET.sub("", _ZONE_NAME.sub("", text))))


def _without_zone(time: datetime) -> datetime:
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


def _quarter(text: str) -> datetime:
    if (match := _QUARTER.fullmatch(text)) is None:
        raise ValueError("not a quarter")
    return datetime(int(match[1] or match[4]), 3 * int(match[2] or match[3]) - 2, 1)  # noqa: DTZ001


def _unix(text: str) -> datetime:
    seconds = float(text)
    return datetime.fromtimestamp(seconds / 1000 if seconds >= 1e11 else seconds, UTC).replace(tzinfo=None)


_READERS: Mapping[str, Callable[[str], datetime]] = {
    "iso": _iso,
    "quarter": _quarter,
    "unix": _unix,
    "excel": lambda text: datetime(1899, 12, 30) + timedelta(float(text)),  # noqa: DTZ001
}
"""ISO 8601 in several lengths or with zones; 1949Q1; seconds or milliseconds since 1970; Excel's day numbers."""


def in_english(text: str) -> str:
    """Return a date with the short English name of its month, and without Chinese and Japanese characters."""

    def shorten(match: re.Match[str]) -> str:
        start = match[0][:3].lower()
        return {"n": "Jun", "l": "Jul"}.get(match[0][3:4], start) if start == "jui" else _MONTHS.get(start, start)

    text = re.sub(r"(?<=\d)\. ", " ", text.replace(" de ", " "))
    return _WORD.sub(shorten, re.sub("[年月]", "-", text).replace("日", ""))


def bare_number(text: str) -> str:
    """Return a number without currency, percent sign and accountants' brackets."""
    text = text.strip().translate(_SPACES)
    if text[-1:] == "-" and text[:1].isdigit():  # accountants write 12-
        text = f"-{text[:-1]}"
    if text[-1:].isdigit() and text[:1].isdigit():
        return text
    bare = _MARKS.sub(r"\1\2", text).strip()
    return f"-{bare[1:-1]}" if bare.startswith("(") and bare.endswith(")") and bare[1:2].isdigit() else bare


def is_number(cell: str) -> bool:
    """Whether a cell holds a number in any common format."""
    number = bare_number(cell)
    return any(pattern.fullmatch(number) for pattern in (PLAIN_NUMBER, DECIMAL_COMMA, THOUSANDS))
