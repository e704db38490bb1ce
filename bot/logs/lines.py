"""Lines of a log: rendering of a message's fields for people, for programs and for the journal."""

import json
from collections.abc import Mapping, MutableMapping
from datetime import UTC, datetime
from typing import Any

from structlog.typing import WrappedLogger

from bot.models.quoting import clean
from state.redaction import Redactor

LONGEST = 4_000
"""Characters of one field."""
LONGEST_TRACE = 16_000
_FIRST = ("at", "level", "event")
_LAST = ("exception", "stack")

# sd-daemon(3)
_PRIORITIES = {"critical": 2, "error": 3, "warning": 4, "info": 6, "debug": 7}

Fields = MutableMapping[str, Any]


def timed(_: WrappedLogger, __: str, fields: Fields) -> Fields:
    """Add the machine's time: a log belongs to this machine, whatever clock the bot uses."""
    fields["at"] = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return fields


class Plain:
    """Makes every field a number, a truth value, None, or a bounded text without secrets and invisible characters."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def __call__(self, _: WrappedLogger, __: str, fields: Fields) -> dict[str, Any]:
        """Return the fields, those of every line first."""
        names = [*(n for n in _FIRST if n in fields), *(n for n in fields if n not in (*_FIRST, *_LAST)), *_LAST]
        return {name: self._plain(name, fields[name]) for name in names if name in fields}

    def _plain(self, name: str, value: object) -> object:
        if value is None or isinstance(value, bool | int | float):
            return value
        # Redacted before it is cut, or half a secret could remain.
        text = clean(self._redactor.text(str(value)))
        if name in _LAST:
            return text if len(text) <= LONGEST_TRACE else f"[...]\n{text[-LONGEST_TRACE:]}"
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}[...]"


def json_line(_: WrappedLogger, __: str, fields: Mapping[str, Any]) -> str:
    """Return one JSON object on one line."""
    # A number that JSON cannot hold must not lose the message.
    held = {n: str(v) if isinstance(v, float) and v - v != 0 else v for n, v in fields.items() if not n.startswith("_")}
    return json.dumps(held, ensure_ascii=False)


def text_line(_: WrappedLogger, __: str, fields: Mapping[str, Any]) -> str:
    """Return a line for people, and below it the traceback, if there is one."""
    at, level = fields.get("at"), f"{fields.get('level', 'info'):8}"
    message = _one_line(fields.get("event", ""))
    others = " ".join(
        f"{name}={_value(value)}"
        for name, value in fields.items()
        if name not in (*_FIRST, *_LAST) and not name.startswith("_")
    )
    line = " ".join(part for part in (at, level, message, others) if part)
    return "\n".join((line, *(str(fields[name]) for name in _LAST if fields.get(name))))


def for_journal(line: str, level: str) -> str:
    """Return lines that the journal reads as one message each, with the priority of their level."""
    prefix = f"<{_PRIORITIES.get(level, 6)}>"
    return "\n".join(prefix + part for part in line.split("\n"))


def _one_line(value: object) -> str:
    return str(value).replace("\n", "\\n").replace("\t", " ")


def _value(value: object) -> str:
    text = _one_line(value)
    return json.dumps(text, ensure_ascii=False) if text == "" or " " in text or '"' in text or "=" in text else text
