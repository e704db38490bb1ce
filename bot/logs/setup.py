"""Opening logs: once, in a process's main; libraries log the same way, and closing restores the earlier state.

Uncaught exceptions are logged like everything else, and so without secrets.
"""

import logging
import os
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Literal, Self, TextIO

import structlog
from structlog.processors import TimeStamper
from structlog.stdlib import BoundLogger, ProcessorFormatter
from structlog.typing import Processor

from bot.logs.lines import Plain, for_journal, json_line, text_line
from state.errors import BotError
from state.redaction import Redactor

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

LogFormat = Literal["auto", "text", "json"]

_LIBRARIES = (
    "httpx2",
    "httpcore2",
    "httpx",
    "httpcore",
    "urllib3",
    "apscheduler",
    "apprise",
    "docker",
)
"""Their lines on each request or job are for debugging; some of them hold addresses."""


@dataclass(frozen=True)
class LogFile:
    """A file that is rotated when it is full; `count` earlier ones are kept."""

    path: Path
    bytes: int = 10_000_000
    count: int = 5


class Logs:
    """Open logs; `log` is passed to all code that logs, bound to its subject."""

    def __init__(self, log: BoundLogger, opened: ExitStack) -> None:
        self.log = log
        """Bind `competition`, `run`, `node` and `task` where they are known."""
        self._opened = opened

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        """Close them, unless an unexpected error is about to end the process, which must still be logged."""
        if not isinstance(error, Exception) or isinstance(error, BotError):
            self.close()

    def close(self) -> None:
        """Stop writing, and restore the earlier state of logging."""
        self._opened.close()


def open_logging(
    format: LogFormat,
    stream: TextIO,
    redactor: Redactor,
    *,
    file: LogFile | None = None,
) -> Logs:
    """Write all log messages of this process and of its libraries, without secrets.

    With a file, the stream is used only if it is a terminal. Lines for systemd's journal have a priority, and no time,
    as the journal adds its own.

    `auto` is text on a terminal, else JSON.

    Raises:
        OSError: the file cannot be written.
    """
    opened = ExitStack()
    root = logging.getLogger()
    journal = in_journal(stream)
    handlers: list[logging.Handler] = []
    if file is not None:
        handlers.append(_ToFile(file))
        handlers[0].setFormatter(_formatter("json" if format == "auto" else format, redactor, journal=False))
    if file is None or stream.isatty():
        there: logging.Handler = _ToStream(stream)
        shown = ("text" if stream.isatty() else "json") if format == "auto" else format
        there.setFormatter(_formatter(shown, redactor, journal=journal))
        handlers.append(there)
    for handler in handlers:
        root.addHandler(handler)
        opened.callback(handler.close)
        opened.callback(root.removeHandler, handler)
    opened.callback(root.setLevel, root.level)
    root.setLevel(logging.INFO)
    for name in _LIBRARIES:
        library = logging.getLogger(name)
        opened.callback(library.setLevel, library.level)
        library.setLevel(logging.WARNING)
    logging.captureWarnings(True)
    opened.callback(logging.captureWarnings, False)
    log: BoundLogger = structlog.wrap_logger(
        logging.getLogger("bot"),
        processors=[structlog.stdlib.filter_by_level, ProcessorFormatter.wrap_for_formatter],
        wrapper_class=BoundLogger,
        context_class=dict,
        cache_logger_on_first_use=False,
    )
    opened.callback(log_uncaught(log))
    return Logs(log, opened)


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


class _ToFile(RotatingFileHandler):
    def __init__(self, file: LogFile) -> None:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(
            file.path, maxBytes=file.bytes, backupCount=file.count, encoding="utf-8", errors="backslashreplace"
        )

    def _open(self) -> IO[Any]:  # type: ignore[override]
        """Open it for its owner alone."""
        descriptor = os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        return os.fdopen(descriptor, self.mode, encoding=self.encoding, errors=self.errors)

    def handleError(self, record: logging.LogRecord) -> None:
        """Go on, as above: a full disk above all."""


def log_uncaught(log: BoundLogger) -> Callable[[], None]:
    """Log exceptions that end the process, a thread, or nothing, which Python would print; return a function to undo this."""
    before = sys.excepthook, threading.excepthook, sys.unraisablehook

    def uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            before[0](kind, error, trace)
            return
        log.critical("the process ends by an unexpected error", exc_info=(kind, error, trace))

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and args.exc_type is not SystemExit:
            name = args.thread.name if args.thread else None
            info = (args.exc_type, args.exc_value, args.exc_traceback)
            log.error("a thread ended by an unexpected error", thread=name, exc_info=info)

    def unraisable(args: "UnraisableHookArgs") -> None:
        if args.exc_value is not None:
            info = (args.exc_type, args.exc_value, args.exc_traceback)
            log.error("an error was ignored", where=args.err_msg, exc_info=info)

    def restore() -> None:
        sys.excepthook, threading.excepthook, sys.unraisablehook = before

    sys.excepthook, threading.excepthook, sys.unraisablehook = uncaught, in_thread, unraisable
    return restore
