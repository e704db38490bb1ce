"""The events of all runs, and those without a run, in the order of writing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bot.logs.sentences import QUIET, TROUBLE, sentence
from state.store import NO_RUN, Store, as_stored
from state.words import iso

_PAGE = 500
_SELECT = """
    SELECT event.id, event.run_id, event.at, event.type, event.node, event.data, run.competition
    FROM event LEFT JOIN run ON run.id = event.run_id
    WHERE event.id > :after AND event.at >= :since
      AND (:competition IS NULL OR run.competition = :competition OR json_extract(event.data, '$.competition') = :competition)
      AND (:all OR event.type NOT IN (SELECT value FROM json_each(:quiet)))
"""
_FORWARD = _SELECT + " ORDER BY event.id LIMIT :most"
_BACKWARD = _SELECT + " ORDER BY event.id DESC LIMIT :most"
_OF_RUN = _SELECT + " AND event.run_id = :run ORDER BY event.seq DESC LIMIT :most"
_NEWEST = "SELECT coalesce(max(id), 0) FROM event"
_EVER = "0001-01-01 00:00:00.000000"


@dataclass(frozen=True)
class LoggedEvent:
    """One event."""

    id: int
    """Its number among all of the database."""
    time: datetime
    type: str
    run_id: str | None
    competition: str | None
    node: int | None
    data: dict[str, Any]

    @property
    def level(self) -> str:
        """`warning` for a failure, else `info`."""
        return "warning" if self.type in TROUBLE else "info"

    @property
    def sentence(self) -> str:
        """One line for people."""
        return sentence(self.type, {**self.data, "run_id": self.run_id, "node": self.node})

    def to_json(self) -> dict[str, Any]:
        """Return it as one object, with the field names of logs."""
        place = {"competition": self.competition, "run": self.run_id, "node": self.node}
        return {"id": self.id, "at": iso(self.time), "level": self.level, "type": self.type, **place, "data": self.data}


@dataclass(frozen=True)
class EventLog:
    """The events of a database, of one competition or of all; quiet ones only where `all` are asked for."""

    store: Store
    competition: str | None = None
    all: bool = False

    def newest(self, count: int, run_id: str | None = None) -> list[LoggedEvent]:
        """Return the newest events, or those of a run by an index, the oldest of them first."""
        return self._read(_BACKWARD if run_id is None else _OF_RUN, run=run_id, limit=count)[::-1]

    def since(self, since: datetime) -> Iterator[LoggedEvent]:
        """Yield the events since a time."""
        after = 0
        while page := self._read(_FORWARD, after=after, since=as_stored(since)):
            yield from page
            after = page[-1].id

    def last(self) -> int:
        """Return the number of the newest event, including quiet ones and other competitions'; 0 if there is none."""
        with self.store.read() as session:
            return int(session.connection().exec_driver_sql(_NEWEST).scalar_one())

    def news(self, after: int) -> tuple[list[LoggedEvent], int]:
        """Return at most a page of the events after a number, and the number for the next call."""
        # First, so that an event written meanwhile is found either now or next time.
        newest = self.last()
        events = self._read(_FORWARD, after=after)
        last = events[-1].id if events else after
        return events, last if len(events) == _PAGE else max(newest, last)

    def _read(
        self, query: str, *, after: int = 0, since: str = _EVER, limit: int = _PAGE, run: str | None = None
    ) -> list[LoggedEvent]:
        values = {"after": after, "since": since, "competition": self.competition, "most": limit, "run": run}
        bound = {**values, "all": self.all, "quiet": json.dumps(sorted(QUIET))}
        with self.store.read() as session:
            return [_event(*row) for row in session.connection().exec_driver_sql(query, bound)]


def _event(
    id: int, run_id: str, time: str, type: str, node: int | None, data: str, competition: str | None
) -> LoggedEvent:
    content, at = json.loads(data), datetime.fromisoformat(time).replace(tzinfo=UTC)
    slug = competition or content.get("competition")
    return LoggedEvent(id, at, type, None if run_id == NO_RUN else run_id, slug, node, content)
