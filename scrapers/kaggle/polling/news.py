"""What a poll found that was not known, by ids."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

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
