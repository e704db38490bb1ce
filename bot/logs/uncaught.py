"""Uncaught exceptions are logged like everything else, and so without secrets."""

import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from structlog.stdlib import BoundLogger

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


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
