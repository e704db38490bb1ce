"""A competition that is watched: where it is asked for, where it is stored, and how far each part was read."""

from collections import defaultdict
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.polling.settings import PollingSettings
from scrapers.posts.cleaners import Cleaners
from state.polling import mark_read, watermark
from state.store import Store, Transaction

Kind = Literal[
    "topic new",
    "topic moved",
    "topic gone",
    "topic back",
    "topic changed",
    "message new",
    "message edited",
    "message deleted",
    "message back",
    "kernel new",
    "kernel moved",
    "kernel gone",
    "kernel back",
    "version new",
    "votes",
    "score",
    "tier",
    "page changed",
    "board changed",
    "submission changed",
    "limits changed",
    "competition new",
    "competition changed",
    "competition gone",
]


@dataclass
class News:
    """Ids by kind, such as {"message new": ["12"]}.

    What is stored is the truth: a process that ends in between has stored what its news never told.
    """

    found: dict[Kind, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: Kind, id: str) -> None:
        """Add one."""
        self.found[kind].append(id)

    def ids(self, kind: Kind) -> list[str]:
        """Return the ids of a kind."""
        return list(self.found.get(kind, ()))

    def counts(self) -> Mapping[Kind, int]:
        """Return how many there are of each kind that there is."""
        return {kind: len(ids) for kind, ids in self.found.items() if ids}

    def __bool__(self) -> bool:
        return any(self.found.values())


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
    "top",
    "board",
    "submissions",
]
"""What is read by itself; in this order, lists before what they tell of."""


class Mark(BaseModel):
    """How far a part was read, as its watermark holds it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


MarkT = TypeVar("MarkT", bound=Mark)


@dataclass(frozen=True)
class Watch:
    """What every poll is handed; `competition` is a slug, empty for what is the account's."""

    competition: str
    client: KaggleClient
    store: Store
    cleaners: Cleaners
    """Read what strangers wrote, before the transaction that stores it."""
    settings: PollingSettings
    news: News = field(default_factory=News)
    all_since: datetime | None = None
    """Where there is one, whatever was last read before this time is read now, however much it is."""

    def now(self) -> datetime:
        """Return our time."""
        return self.client.clock.now()

    def write(self) -> AbstractContextManager[Transaction]:
        """Open a transaction for what one answer told, and for the watermark that promises it.

        A power cut may take the last of them back, rows and watermarks alike, and then the site is asked again.
        """
        return self.store.write(durable=False)

    def mark(self, part: Part, kind: type[MarkT]) -> MarkT:
        """Return how far a part was read; what an older version of the program has left, and is not understood, is as none."""
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
