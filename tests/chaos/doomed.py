"""The bot, killed at a named boundary: `python -m tests.chaos.doomed MOMENT LABEL COUNT -- ARGUMENTS OF bot`.

A boundary is the commit of a transaction that holds an event: `MOMENT` is `before` or `after` it, `LABEL` the event's type,
for steps with the step's name (see `label`), `COUNT` which of them, from 1. The killing is SIGKILL, by the process itself.
It looks on through SQLAlchemy's own events, so that the bot is the one that people run.
"""

import contextlib
import json
import os
import re
import signal
import sqlite3
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import Connection, event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import Pool


def label(kind: str, data: Mapping[str, Any]) -> str:
    """Return how a boundary is called: `node.ended`, or `step.ended execute:holdout`; numbers and ids are left out."""
    if not kind.startswith("step."):
        return kind
    name = str(data["name"])
    return f"{kind} {name if name.startswith('execute:') else re.sub(r'[:/].*', '', name)}"


class Doom:
    """Counts boundaries, and kills this process at the one that is asked for."""

    def __init__(self, moment: str, wanted: str, count: int) -> None:
        self._moment = moment
        self._wanted = wanted
        self._left = count
        self._seen: int | None = None
        """Number of the last event that was looked at; what earlier starts of the bot have written does not count."""
        event.listen(Engine, "begin", self._at_begin)
        event.listen(Engine, "commit", self._before_commit)
        event.listen(Pool, "checkin", self._after_commit)

    def _before_commit(self, connection: Connection) -> None:
        wanted = [kind for kind in self._new(connection) if kind == self._wanted]
        self._left -= len(wanted)
        if wanted and self._left <= 0 and self._moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)

    def _after_commit(self, *_: object) -> None:
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def _at_begin(self, connection: Connection) -> None:
        if self._seen is None:
            self._seen = max((number for number, _, _ in _events_after(connection, 0)), default=0)

    def _new(self, connection: Connection) -> list[str]:
        """Return the boundaries in the transaction that is about to be committed."""
        rows = _events_after(connection, self._seen or 0)
        self._seen = rows[-1][0] if rows else self._seen
        return [label(kind, json.loads(data)) for _, kind, data in rows]


def forked(live: Callable[[], None]) -> int:
    """Live in a fork of this process, which has no threads, and return the exit status as `subprocess` has it.

    What this process has loaded, which takes a second and more, the fork need not load again.
    """
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status = 1
    try:
        live()
        sys.stdout.flush()
        status = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(status)


def _events_after(connection: Connection, number: int) -> list[tuple[int, str, str]]:
    with contextlib.closing(connection.connection.cursor()) as cursor:
        try:
            cursor.execute("SELECT id, type, data FROM event WHERE id > ? ORDER BY id", (number,))
        except sqlite3.OperationalError:  # there are no tables yet
            return []
        return cursor.fetchall()


if __name__ == "__main__":
    from bot.cli import main

    moment, wanted, count, _, *arguments = sys.argv[1:]
    Doom(moment, wanted, int(count))
    sys.argv = ["bot", *arguments]
    main()
