"""The store: one SQLite file, one writer at a time, events written with the rows they tell of."""

import hashlib
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import URL, Engine, event, func
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlmodel import Session, SQLModel, col, create_engine, select

from state import schema
from state.clock import Clock
from state.tables import Blob, Event

__all__ = ["Store", "Transaction", "iso"]

_PAGE = 500
_RESERVED = frozenset({"id", "at"})


def iso(time: datetime) -> str:
    """Return an aware time as ISO 8601 UTC with `Z`, such as `2017-10-25T14:03:00Z`.

    Raises:
        ValueError: the time is naive.
    """
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone")
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


class Transaction:
    """One write transaction: rows and their events appear together or not at all."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self.session = session
        self.clock = clock
        self._last_seq: dict[str, int] = {}

    def now(self) -> datetime:
        """Return the clock's time."""
        return self.clock.now()

    def add(self, row: SQLModel) -> None:
        """Add a row, or the changes of one read in this transaction."""
        self.session.add(row)

    def record(self, type: str, *, run_id: str, node: int | None = None, **fields: Any) -> Event:
        """Write an event such as `node.created`; `fields` are small JSON values, times become ISO strings.

        Raises:
            ValueError: a field is called `id` or `at`, which an exported event has of its own, or is NaN or infinite.
        """
        if clash := _RESERVED & fields.keys():
            raise ValueError(f"an event's field cannot be called {', '.join(sorted(clash))}")
        data = {name: iso(value) if isinstance(value, datetime) else value for name, value in fields.items()}
        for name, value in data.items():
            if isinstance(value, float) and not -float("inf") < value < float("inf"):
                raise ValueError(f"the event's field {name} is {value}, which JSON cannot hold")
        row = Event(run_id=run_id, seq=self._next_seq(run_id), at=self.now(), type=type, node=node, data=data)
        self.add(row)
        return row

    def _next_seq(self, run_id: str) -> int:
        """Count on within the run; the write lock makes it free of gaps and doubles."""
        if run_id not in self._last_seq:
            last = self.session.exec(select(func.max(Event.seq)).where(Event.run_id == run_id)).one()
            self._last_seq[run_id] = last or 0
        self._last_seq[run_id] += 1
        return self._last_seq[run_id]


class Store:
    """A database file; hand one to whatever needs state. Transactions hold no `await`."""

    def __init__(self, writer: Engine, reader: Engine, clock: Clock) -> None:
        self.clock = clock
        self._writer = writer
        self._reader = reader
        self._lock = threading.Lock()
        self._owner: int | None = None

    @classmethod
    def open(cls, path: Path, clock: Clock) -> Self:
        """Open or create a database, its tables brought up to date.

        Raises:
            UsageError: the file is no database of ours, or a newer version of the program made it.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        writer = _engine(path, "BEGIN IMMEDIATE")
        try:
            schema.upgrade(writer)
        except BaseException:
            writer.dispose()
            raise
        return cls(writer, _engine(path, "BEGIN", query_only=True), clock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; the store cannot be used afterwards."""
        self._reader.dispose()
        self._writer.dispose()

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """Open one transaction that holds the write lock from its first moment and commits at the end.

        Rows stay readable afterwards. Raises RuntimeError when opened within another of the same thread, which
        would wait for itself.
        """
        if self._owner == threading.get_ident():
            raise RuntimeError("a write transaction cannot be opened within another")
        with self._lock:
            self._owner = threading.get_ident()
            try:
                with Session(self._writer, expire_on_commit=False) as session, session.begin():
                    session.connection()
                    yield Transaction(session, self.clock)
            finally:
                self._owner = None

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a session on one consistent state of the database, without what an open `write` has not committed."""
        with Session(self._reader, expire_on_commit=False) as session:
            yield session

    def put_blob(self, tx: Transaction, data: bytes | str) -> str:
        """Keep a body (text as UTF-8) and return its sha256 in hex; a body that is there already is kept once."""
        return put_blob(tx, data)

    def blob(self, sha256: str) -> bytes:
        """Return a kept body.

        Raises:
            KeyError: there is none by this hash.
        """
        with self.read() as session:
            row = session.get(Blob, sha256)
        if row is None:
            raise KeyError(sha256)
        return zlib.decompress(row.data)

    def export_events(self, run_id: str) -> Iterator[dict[str, Any]]:
        """Yield a run's events in order as {id, at, type, node, ...fields}; ids count from 1 without gaps."""
        last = 0
        while True:
            with self.read() as session:
                page = session.exec(
                    select(Event).where(Event.run_id == run_id, Event.seq > last).order_by(col(Event.seq)).limit(_PAGE)
                ).all()
            for row in page:
                yield {"id": row.seq, "at": iso(row.at), "type": row.type, "node": row.node, **row.data}
            if len(page) < _PAGE:
                return
            last = page[-1].seq


def put_blob(tx: Transaction, data: bytes | str) -> str:
    """Keep a body (text as UTF-8) and return its sha256 in hex."""
    plain = data.encode(errors="surrogatepass") if isinstance(data, str) else data
    sha256 = hashlib.sha256(plain).hexdigest()
    statement = insert(Blob).values(sha256=sha256, data=zlib.compress(plain)).on_conflict_do_nothing()
    tx.session.execute(statement)
    return sha256


def _engine(path: Path, begin: str, *, query_only: bool = False) -> Engine:
    """Make an engine whose transactions start with `begin` (the driver's own start is off: it loses updates)."""
    engine = create_engine(URL.create("sqlite", database=str(path)))

    def on_connect(connection: DBAPIConnection, _: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA busy_timeout=30000")
        cursor.execute("PRAGMA journal_mode=WAL")
        # FULL, as an intent to submit must outlive a power cut; it costs a sixth of the commits a second.
        cursor.execute("PRAGMA synchronous=FULL")
        cursor.execute("PRAGMA foreign_keys=ON")
        if query_only:
            cursor.execute("PRAGMA query_only=ON")
        cursor.close()

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql(begin))
    return engine
