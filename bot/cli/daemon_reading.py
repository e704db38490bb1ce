"""Reading the daemon's database for commands that only show something, without checking, changing or locking it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from bot.cli.daemon_store import daemon_database, no_database
from state.clock import SystemClock
from state.errors import UsageError
from state.store import Store
from state.tables import Run
from state.words import did_you_mean


@contextmanager
def daemon_to_read(config: Path | None) -> Iterator[Store]:
    """Open the daemon's database for reading; errors as of `open_daemon_store`."""
    path = daemon_database(config)
    if not path.is_file():
        raise no_database(path)
    with Store.open_to_read(path, SystemClock()) as store:
        yield store


def runs_of(store: Store, competition: str | None) -> dict[str, Run]:
    """Return the live run of each competition, or of one.

    Raises:
        UsageError: the named one has no run.
    """
    from state.live import latest_runs

    with store.read() as session:
        runs = latest_runs(session)
    if competition is None:
        return runs
    if competition not in runs:
        suggestion = did_you_mean(competition, runs) if runs else "no run yet"
        raise UsageError(f"no run on {competition}: {suggestion}")
    return {competition: runs[competition]}


def daemon_now(store: Store) -> datetime:
    """Return the time by the latest daemon's clock."""
    from bot.status.presence import daemon_clock

    with store.read() as session:
        return daemon_clock(session, store.clock).now()


def as_json(value: Any) -> dict[str, Any]:
    """Return a frozen value as JSON data, with times as ISO strings in UTC."""
    fields: dict[str, Any] = TypeAdapter(type(value)).dump_python(value, mode="json")
    return fields
