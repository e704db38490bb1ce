"""Lines of a log: rendering of a message's fields for people, for programs and for the journal."""

import math
from collections.abc import Callable, MutableMapping
from typing import Any, cast

from structlog.processors import JSONRenderer, LogfmtRenderer
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
Renderer = Callable[[WrappedLogger, str, Fields], str]

json_line = cast(Renderer, JSONRenderer(ensure_ascii=False))
_key_values = LogfmtRenderer(bool_as_flag=False)


class Plain:
    """Makes every field a number, a truth value, None, or a bounded text without secrets and invisible characters."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor

    def __call__(self, _: WrappedLogger, __: str, fields: Fields) -> dict[str, Any]:
        """Return the fields, those of every line first."""
        names = [*(n for n in _FIRST if n in fields), *(n for n in fields if n not in (*_FIRST, *_LAST)), *_LAST]
        return {name: self._plain(name, fields[name]) for name in names if name in fields}

    def _plain(self, name: str, value: object) -> object:
        # A number that JSON cannot hold must not lose the message.
        if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
            return value
        # Redacted before it is cut, or half a secret could remain.
        text = clean(self._redactor.text(str(value)))
        if name in _LAST:
            return text if len(text) <= LONGEST_TRACE else f"[...]\n{text[-LONGEST_TRACE:]}"
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}[...]"


def text_line(logger: WrappedLogger, name: str, fields: Fields) -> str:
    """Return a line for people, and below it the traceback, if there is one."""
    time, level, event = (fields.pop(key, "") for key in _FIRST)
    traces = [fields.pop(key) for key in _LAST if key in fields]
    message = str(event).replace("\n", "\\n").replace("\t", " ")
    line = (time, f"{level:8}", message, _key_values(logger, name, fields))
    return "\n".join((" ".join(part for part in line if part), *traces))


def for_journal(render: Renderer) -> Renderer:
    """Return a renderer of lines that the journal reads as one message each, with the priority of their level."""

    def prioritized(logger: WrappedLogger, name: str, fields: Fields) -> str:
        prefix = f"<{_PRIORITIES.get(fields['level'], 6)}>"
        return "\n".join(prefix + part for part in render(logger, name, fields).split("\n"))

    return prioritized
