"""The store: one SQLite file, one writer at a time, events written together with their rows."""

import hashlib
import json
import threading
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection, Engine
from sqlalchemy.dialects.sqlite import insert
from sqlmodel import Session, SQLModel, col, select

from state import schema
from state.clock import Clock
from state.engine import BUSY_SECONDS, reading, writing
from state.errors import StateUnavailable, UsageError
from state.faults import damaged, free_bytes, translating
from state.integrity import connect, ensure_sound
from state.redaction import Redactor
from state.tables import Blob, Event
from state.words import iso

NO_RUN = "bot"
"""The run id of events that belong to no run; no run's id is a single word."""

_PAGE = 500
_READER_BUSY_SECONDS = 5.0
_RESERVED = frozenset({"id", "at"})
# The statement that SQLAlchemy would make, at a quarter of the cost: most rows written are events.
_INSERT_EVENT = "INSERT INTO event (run_id, seq, at, type, node, data) VALUES (?, ?, ?, ?, ?, ?)"
_LAST_SEQ = "SELECT max(seq) FROM event WHERE run_id = ?"


def as_stored(time: datetime) -> str:
    """Return an aware time in the form that its column stores. Raises ValueError if it is naive."""
    if time.tzinfo is None:
        raise ValueError(f"{time} has no time zone")
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


class Transaction:
    """One write transaction: rows and their events appear together or not at all."""

    def __init__(self, connection: Connection, clock: Clock, redactor: Redactor) -> None:
        self.connection = connection
        """For statements without objects, at a third of the cost."""
        self.clock = clock
        self.redactor = redactor
        self._session: Session | None = None
        self._last_seq: dict[str, int] = {}

    @property
    def session(self) -> Session:
        """The session on this transaction, created on first use: an event needs none."""
        if self._session is None:
            self._session = Session(self.connection, expire_on_commit=False)
        return self._session

    def now(self) -> datetime:
        """Return the clock's time."""
        return self.clock.now()

    def add(self, row: SQLModel) -> None:
        """Add a row, or the changes of one read in this transaction."""
        self.session.add(row)

    def record(self, type: str, *, run_id: str, node: int | None = None, **fields: Any) -> int:
        """Write an event such as `node.created`, and return its number within the run; fields are small JSON values or times.

        Raises ValueError: a field is NaN or infinite, or is called `id` or `at`, which every exported event has already.
        """
        if clash := _RESERVED & fields.keys():
            raise ValueError(f"an event field cannot be named {', '.join(sorted(clash))}")
        data = {name: iso(value) if isinstance(value, datetime) else value for name, value in fields.items()}
        for name, value in data.items():
            if isinstance(value, float) and not -float("inf") < value < float("inf"):
                raise ValueError(f"the event field {name} is {value}, which JSON cannot represent")
        seq, text = self._next_seq(run_id), json.dumps(data)
        if self.redactor.may_hold_any(text):
            text = json.dumps(self.redactor.value(data))
        self.connection.exec_driver_sql(_INSERT_EVENT, (run_id, seq, as_stored(self.now()), type, node, text))
        return seq

    def _next_seq(self, run_id: str) -> int:
        """Return the run's next number; the write lock keeps the numbers free of gaps and duplicates."""
        if run_id not in self._last_seq:
            last = self.connection.exec_driver_sql(_LAST_SEQ, (run_id,)).scalar_one()
            self._last_seq[run_id] = last or 0
        self._last_seq[run_id] += 1
        return self._last_seq[run_id]

    def finish(self) -> None:
        """Flush the rows; called once, before the commit."""
        if self._session is not None:
            self._session.commit()

    def close(self) -> None:
        """Detach the rows, which stay readable."""
        if self._session is not None:
            self._session.close()


class Store:
    """A database file, passed to whatever needs state. Transactions hold no `await`.

    All methods raise, if there is a problem with the file or the disk:

    - StateUnavailable: locked, disk full, no descriptors left; nothing of the transaction is written, and the store can be
      used again as soon as the problem is solved.
    - StateCorrupted: the file is damaged.
    """

    def __init__(self, path: Path, writer: Engine, reader: Engine, clock: Clock, redactor: Redactor) -> None:
        self.path = path
        self.clock = clock
        self.redactor = redactor
        """Removes secrets from everything written here; code that writes files beside it uses it too."""
        self._writer = writer
        self._reader = reader
        self._lock = threading.Lock()
        self._owner: int | None = None

    @classmethod
    def open(
        cls, path: Path, clock: Clock, *, busy_seconds: float = BUSY_SECONDS, redactor: Redactor | None = None
    ) -> Self:
        """Open a database, or create it with its tables; without a redactor texts are written as they are.

        Raises:
            UsageError: the file is not a database of ours, or another version of the program made it.
            StateCorrupted: it is damaged.
            StateUnavailable: it cannot be used now.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        ensure_sound(path, busy_seconds=busy_seconds)
        redactor = redactor or Redactor()
        writer = writing(path, busy_seconds=busy_seconds, redactor=redactor)
        try:
            with writer.begin() as connection:
                schema.create(connection)
        except BaseException:
            writer.dispose()
            raise
        reader = reading(path, busy_seconds=busy_seconds)
        # A connection that exists needs no descriptor later.
        reader.connect().close()
        return cls(path, writer, reader, clock, redactor)

    @classmethod
    def open_to_read(cls, path: Path, clock: Clock) -> Self:
        """Open a database that another process writes, as a store that refuses to write; errors as of `open`.

        Nothing is checked, changed or locked: a large file takes no longer than a small one.
        """
        if not path.is_file():
            raise UsageError(f"database not found: {path}")
        reader = reading(path, busy_seconds=_READER_BUSY_SECONDS)
        try:
            with reader.connect() as connection:
                schema.ensure_ours(connection)
        except BaseException:
            reader.dispose()
            raise
        return cls(path, reader, reader, clock, Redactor())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every connection; the store cannot be used afterwards."""
        self._reader.dispose()
        self._writer.dispose()

    def compact(self) -> None:
        """Rewrite the file without free pages, and empty its write-ahead log.

        A deleted text stays in free pages, in gaps of pages that were split, and in the log. SQLite's `secure_delete`
        would overwrite what is deleted from now on, but not what earlier edits and moved rows left behind. It takes as
        long as reading and writing the whole file, and nobody can write meanwhile: call it in a thread.

        Raises:
            StateUnavailable: another process uses it, or the disk has no room for a second copy.
            StateCorrupted: it is damaged.
        """
        path = self.path
        if free_bytes(path) < 2 * path.stat().st_size:
            raise StateUnavailable(f"{path} cannot be compacted: its disk has no room for a second copy.")
        with self._lock, translating(path), closing(connect(path)) as connection:
            connection.execute("VACUUM")
            busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise StateUnavailable(f"the log of {path} could not be emptied: another process is reading the database.")

    @contextmanager
    def write(self, *, durable: bool = True) -> Iterator[Transaction]:
        """Open one transaction that holds the write lock from its start and commits at the end.

        A durable one outlives a power cut, as an intent to submit and anything paid for must. Any other outlives the end
        of the process, and reaches the disk with the next durable one: it is for rows that can be made again.

        Rows stay readable afterwards. Raises RuntimeError when opened within another one of the same thread, which
        would wait for itself.
        """
        if self._owner == threading.get_ident():
            raise RuntimeError("a write transaction cannot be opened inside another one")
        with self._lock:
            self._owner = threading.get_ident()
            try:
                with self._writer.connect().execution_options(durable=durable) as connection, connection.begin():
                    tx = Transaction(connection, self.clock, self.redactor)
                    try:
                        yield tx
                        tx.finish()
                    finally:
                        tx.close()
            finally:
                self._owner = None

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Open a session on one consistent state of the database, without what an open `write` has not committed."""
        with Session(self._reader, expire_on_commit=False) as session:
            yield session

    def foreign_version(self) -> int:
        """Return a number that changes when another process writes, but not when this one does."""
        with self._lock, self._writer.connect() as connection:
            # On the driver's own connection: a transaction would take the write lock.
            driver = connection.connection.driver_connection
            version: int = driver.execute("PRAGMA data_version").fetchone()[0] if driver is not None else 0
        return version

    def blob(self, sha256: str) -> bytes:
        """Return a stored body; errors as of `read_blob`."""
        with self.read() as session:
            return read_blob(session, sha256)

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


def read_blob(session: Session, sha256: str) -> bytes:
    """Return a stored body. Raises KeyError: there is none with this hash; StateCorrupted: it is no longer what was stored."""
    row = session.get(Blob, sha256)
    if row is None:
        raise KeyError(sha256)
    path = Path(str(session.get_bind().engine.url.database))
    try:
        plain = zlib.decompress(row.data)
    except zlib.error as error:
        raise damaged(path, f"the body {sha256} cannot be read") from error
    if hashlib.sha256(plain).hexdigest() != sha256:
        raise damaged(path, f"the body {sha256} has changed")
    return plain


def put_blob(tx: Transaction, data: bytes | str) -> str:
    """Store a body (text as UTF-8) and return its sha256 in hex; the same body is stored only once.

    It is stored without the process's secrets, and the hash is that of the stored bytes.
    """
    plain = tx.redactor.own_bytes(data.encode(errors="surrogatepass") if isinstance(data, str) else data)
    sha256 = hashlib.sha256(plain).hexdigest()
    statement = insert(Blob).values(sha256=sha256, data=zlib.compress(plain)).on_conflict_do_nothing()
    tx.session.execute(statement)
    return sha256
