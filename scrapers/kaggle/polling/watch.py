"""A watched competition: its client, its store, and how far each part was read."""

from collections import defaultdict
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeVar

from pydantic import ValidationError
from sqlmodel import Session, col, select

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.posts.cleaners import Cleaners
from state.closed_model import ClosedModel
from state.polling import mark_read, watermark
from state.store import Store, Transaction
from state.tables import KernelVersion, PolledKernel, PolledTopic, PostedMessage, Topic

Kind = (
    Literal["topic new", "topic moved", "topic gone", "topic back", "topic changed"]
    | Literal["message new", "message edited", "message deleted", "message back"]
    | Literal["kernel new", "kernel moved", "kernel gone", "kernel back", "version new"]
    | Literal["votes", "score", "tier", "page changed", "data changed", "board changed"]
    | Literal["submission changed", "limits changed", "competition new", "competition changed", "competition gone"]
)


@dataclass
class News:
    """Ids by kind, such as {"message new": ["12"]}.

    Only the store is complete: a process that ends in between has stored rows that no news reported.
    """

    ids_by_kind: dict[Kind, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: Kind, id: str) -> None:
        """Add one."""
        self.ids_by_kind[kind].append(id)

    def ids(self, kind: Kind) -> list[str]:
        """Return the ids of a kind."""
        return list(self.ids_by_kind.get(kind, ()))


Part = Literal[
    "competitions",
    "topics",
    "topic_sweep",
    "messages",
    "rereads",
    "kernels",
    "kernel_sweep",
    "sources",
    "scores",
    "tiers",
    "pages",
    "data",
    "top",
    "board",
    "submissions",
]
"""A part that is read separately; in this order, lists come before what they list."""


class Mark(ClosedModel):
    """How far a part was read, as stored in its watermark."""


MarkT = TypeVar("MarkT", bound=Mark)
RowT = TypeVar("RowT", Topic, PolledTopic, PostedMessage, PolledKernel, KernelVersion)


@dataclass(frozen=True)
class PollContext:
    """The context of every poll; `competition` is a slug, empty for parts of the account."""

    competition: str
    client: KaggleClient
    store: Store
    cleaners: Cleaners
    """They clean strangers' texts, before the transaction that stores these."""
    settings: PollingSettings
    news: News = field(default_factory=News)
    all_since: datetime | None = None
    """If set, everything last read before this time is read now, however much it is."""

    def now(self) -> datetime:
        """Return our time."""
        return self.client.clock.now()

    def rows(self, session: Session, table: type[RowT], ids: Collection[str]) -> dict[str, RowT]:
        """Return the competition's rows with these ids, by id."""
        query = select(table).where(table.competition == self.competition, col(table.id).in_(ids))
        return {row.id: row for row in session.exec(query)}

    def write(self) -> AbstractContextManager[Transaction]:
        """Open a transaction for one answer's rows and the watermark that relies on them.

        A power cut may undo the last ones, rows and watermarks alike; then the site is asked again.
        """
        return self.store.write(durable=False)

    def mark(self, part: Part, kind: type[MarkT]) -> MarkT:
        """Return how far a part was read; a mark that cannot be read, left by an older version, counts as none."""
        with self.store.read() as session:
            value = watermark(session, self.competition, part).value
        try:
            return kind.model_validate(value)
        except ValidationError:
            return kind()

    def move(
        self, tx: Transaction, part: Part, mark: Mark | None, served_at: datetime | None, *, ended: bool = True
    ) -> None:
        """Move a part's watermark; see `state.polling.mark_read`."""
        value = {} if mark is None else mark.model_dump(mode="json", exclude_defaults=True)
        mark_read(tx, self.competition, part, value, served_at, ended=ended)
