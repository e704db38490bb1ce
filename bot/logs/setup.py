"""Opening logs: once, in a process's main; libraries log the same way, and closing restores the earlier state.

Uncaught exceptions are logged like everything else, and so without secrets.
"""

import logging
import math
import os
import sys
import threading
from collections.abc import Callable, MutableMapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO, cast

import structlog
from structlog.processors import JSONRenderer, LogfmtRenderer, TimeStamper
from structlog.stdlib import BoundLogger, ProcessorFormatter
from structlog.typing import Processor, WrappedLogger

from bot.models.quoting import clean
from state.errors import BotError
from state.redaction import Redactor

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

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


LogFormat = Literal["auto", "text", "json"]

_LIBRARIES = ("httpx2", "httpcore2", "httpx", "httpcore", "urllib3", "apprise", "docker")
"""Their lines on each request are for debugging; some of them hold addresses."""


class Logs:
    """Open logs; `log` is passed to all code that logs, bound to its subject."""

    def __init__(self, log: BoundLogger, stack: ExitStack) -> None:
        self.log = log
        """Bind `competition`, `run`, `node` and `task` where they are known."""
        self._opened = stack

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        """Close them, unless an unexpected error is about to end the process, which must still be logged."""
        if not isinstance(error, Exception) or isinstance(error, BotError):
            self.close()

    def say(self, competition: str, line: str) -> None:
        """Log a line on a competition, or on none (empty)."""
        (self.log.bind(competition=competition) if competition else self.log).info(line)

    def close(self) -> None:
        """Stop writing, and restore the earlier state of logging."""
        self._opened.close()


def open_logging(format: LogFormat, stream: TextIO, redactor: Redactor) -> Logs:
    """Write all log messages of this process and of its libraries, without secrets.

    Lines for systemd's journal have a priority, and no time, as the journal adds its own. `auto` is text on a terminal, else
    JSON.
    """
    stack = ExitStack()
    root = logging.getLogger()
    handler = _ToStream(stream)
    chosen_format = ("text" if stream.isatty() else "json") if format == "auto" else format
    handler.setFormatter(_formatter(chosen_format, redactor, journal=in_journal(stream)))
    root.addHandler(handler)
    stack.callback(handler.close)
    stack.callback(root.removeHandler, handler)
    stack.callback(root.setLevel, root.level)
    root.setLevel(logging.INFO)
    for name in _LIBRARIES:
        library = logging.getLogger(name)
        stack.callback(library.setLevel, library.level)
        library.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    stack.callback(logging.captureWarnings, False)
    log: BoundLogger = structlog.wrap_logger(
        logging.getLogger("bot"),
        processors=[structlog.stdlib.filter_by_level, ProcessorFormatter.wrap_for_formatter],
        wrapper_class=BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=False,
    )
    stack.callback(log_uncaught(log))
    return Logs(log, stack)


def in_journal(stream: TextIO) -> bool:
    """Return whether a stream goes to systemd's journal (systemd.exec(5), JOURNAL_STREAM)."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):  # no file behind it
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _formatter(format: LogFormat, redactor: Redactor, *, journal: bool) -> ProcessorFormatter:
    # A log belongs to this machine: its lines have the machine's time, whatever clock the bot uses.
    timed: list[Processor] = [] if journal else [TimeStamper(fmt="iso", key="at")]
    render = text_line if format == "text" else json_line
    return ProcessorFormatter(
        processors=[
            ProcessorFormatter.remove_processors_meta,
            structlog.stdlib.add_log_level,
            *timed,
            structlog.processors.format_exc_info,
            Plain(redactor),
            for_journal(render) if journal else render,
        ],
        foreign_pre_chain=[structlog.stdlib.add_logger_name],
    )


class _ToStream(logging.StreamHandler[TextIO]):
    def handleError(self, record: logging.LogRecord) -> None:
        """Go on: a log that cannot be written must not stop the work, nor show what is not redacted."""

    def flush(self) -> None:
        # The reader may have gone, or the stream be closed.
        with suppress(OSError, ValueError):
            super().flush()


def log_uncaught(log: BoundLogger) -> Callable[[], None]:
    """Log exceptions that end the process, a thread, or nothing, which Python would print; return a function to undo this."""
    before = sys.excepthook, threading.excepthook, sys.unraisablehook

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            before[0](kind, error, trace)
            return
        log.critical("unexpected error: the process is exiting", exc_info=(kind, error, trace))

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and args.exc_type is not SystemExit:
            name = args.thread.name if args.thread else None
            log.error("a thread ended unexpectedly", thread=name, exc_info=args.exc_value)

    def unraisable(args: "UnraisableHookArgs") -> None:
        if args.exc_value is not None:
            log.error("an error was ignored", where=args.err_msg, exc_info=args.exc_value)

    def restore() -> None:
        sys.excepthook, threading.excepthook, sys.unraisablehook = before

    sys.excepthook, threading.excepthook, sys.unraisablehook = uncaught, in_thread, unraisable
    return restore
