"""Engines: connections to a database file, the start of their transactions, and the translation of their errors."""

from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, QueuePool, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlmodel import create_engine

from state.errors import StateUnavailable
from state.faults import translated
from state.redaction import Redactor

BUSY_SECONDS = 10.0
"""Longest wait for a lock; the event loop waits with it, and must still be able to stop within 20 seconds."""

# Sorting in memory needs no file descriptor and no disk space for temporary files; either may be exhausted.
_PRAGMAS = ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY", "cell_size_check=ON")
_READERS = 8
"""Most reading connections at once; each is a transaction of some thread, and holds three file descriptors."""


def writing(path: Path, *, busy_seconds: float = BUSY_SECONDS, redactor: Redactor | None = None) -> Engine:
    """Return the engine of the one connection that writes; its transactions take the write lock at once.

    A transaction with the execution option `durable` False survives the end of the process, but perhaps not a power cut:
    the next durable one, or the next checkpoint, flushes it to the disk. The redactor's own secrets are removed from
    every text that is a statement's parameter, so that no row, event or condition takes them to the file.
    """
    engine = _engine(path, busy_seconds, connections=1)

    def begin(connection: Connection) -> None:
        level = "FULL" if connection.get_execution_options().get("durable", True) else "NORMAL"
        if connection.info.get("synchronous") != level:
            connection.exec_driver_sql(f"PRAGMA synchronous={level}")
            connection.info["synchronous"] = level
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    event.listen(engine, "begin", begin)
    if redactor:
        _hide_secrets(engine, redactor)
    return engine


def _hide_secrets(engine: Engine, redactor: Redactor) -> None:
    def redacted(values: Any) -> Any:
        if isinstance(values, list):
            return [redacted(value) for value in values]
        # One search through all texts of a row, as hardly any row holds a secret.
        items = values.values() if isinstance(values, dict) else values
        if not redactor.may_hold_own("\n".join(item for item in items if isinstance(item, str))):
            return values
        if isinstance(values, dict):
            return {name: redactor.own(value) if isinstance(value, str) else value for name, value in values.items()}
        return tuple(redactor.own(value) if isinstance(value, str) else value for value in values)

    def before_execute(
        _: Connection, __: object, statement: str, parameters: Any, ___: object, ____: bool
    ) -> tuple[str, Any]:
        return statement, redacted(parameters)

    event.listen(engine, "before_cursor_execute", before_execute, retval=True)


def reading(path: Path, *, busy_seconds: float = BUSY_SECONDS) -> Engine:
    """Return the engine of connections that can only read, each transaction on one state of the database."""
    engine = _engine(path, busy_seconds, connections=_READERS, query_only=True)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    return engine


def _engine(path: Path, busy_seconds: float, *, connections: int, query_only: bool = False) -> Engine:
    """Make an engine that starts no transactions by itself (the driver's automatic start loses updates)."""
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": busy_seconds},
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        pool_timeout=busy_seconds,
    )

    def on_connect(connection: DBAPIConnection, _: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in (*_PRAGMAS, f"query_only={'ON' if query_only else 'OFF'}"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    def on_error(context: ExceptionContext) -> BaseException | None:
        mapped = translated(context.original_exception, path)
        # A reader that writes is a bug of ours, which no permission would fix.
        mistaken = query_only and "readonly" in str(context.original_exception)
        return None if mistaken and isinstance(mapped, StateUnavailable) else mapped

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "handle_error", on_error)
    return engine
