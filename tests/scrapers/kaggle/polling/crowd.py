"""A crowd for a snapshot: topics, replies, deletions, kernel versions and readings, by seed, over some days."""

import json
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from state.words import iso

Row = dict[str, Any]
_AUTHORS = tuple(f"{name} {number}" for name in ("ada", "ben", "cleo", "dai", "eve") for number in range(8))
_TIERS = ("NOVICE", "CONTRIBUTOR", "EXPERT", "MASTER", "GRANDMASTER")
_WORDS = (
    *("fold", "trees", "**blend**", "leak", "`fit()`", "AUC", "rank"),
    *("*mean*", "seed_1", "noise", "0.5", "<b>", "&", "target"),
)


class Crowd:
    """Writes rows of a community; with the same seed always the same ones."""

    def __init__(self, seed: int, start: datetime, days: float) -> None:
        self._rng = random.Random(seed)
        self._start, self._days = start, days
        self._tiers = {author: self._rng.randrange(4) for author in _AUTHORS}
        self.rows: dict[str, list[Row]] = {name: [] for name in ("topics", "messages", "kernels", "observations")}
        self.files: dict[str, str] = {}

    def fill(self, topics: int, messages: int, kernels: int) -> None:
        """Make that many topics, comments and kernels."""
        for number in range(topics):
            self._topic(f"{700_000 + number}")
        for number in range(messages):
            self._comment(f"{900_000 + number}")
        for number in range(kernels):
            self._kernel(number)

    def write(self, community: Path) -> None:
        """Add all to a snapshot's folder."""
        for name, rows in self.rows.items():
            with (community / f"{name}.jsonl").open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        for name, text in self.files.items():
            (community / name).write_text(text, encoding="utf-8")

    def _topic(self, id: str) -> None:
        author, at = self._rng.choice(_AUTHORS), self._time()
        about = {"id": id, "title": self._text(4), "author": author, "tier": None, "posted_at": iso(at), "votes": 3}
        self.rows["topics"].append(about)
        self._message(f"{800_000 + int(id)}", id, None, author, at)
        self._read("topic", id, at, author)

    def _comment(self, id: str) -> None:
        topic = self._rng.choice(self.rows["topics"])
        siblings = [row for row in self.rows["messages"] if row["topic_id"] == topic["id"]]
        parent = self._rng.choice(siblings) if self._rng.random() < 0.7 else None
        after = datetime.fromisoformat((parent or topic)["posted_at"])
        at = after + timedelta(hours=self._rng.expovariate(1 / 30))
        self._message(id, topic["id"], parent["id"] if parent else None, self._rng.choice(_AUTHORS), at)

    def _message(self, id: str, topic: str, parent: str | None, author: str, at: datetime) -> None:
        deleted = parent is not None and self._rng.random() < 0.05
        self.rows["messages"].append(
            {
                **{"id": id, "topic_id": topic, "parent_id": parent, "author": None if deleted else author},
                **{"tier": None, "posted_at": iso(at), "edited_at": None, "votes": 2},
                **{"markdown": None if deleted else self._text(12), "deleted": deleted},
            }
        )
        self._read("message", id, at, author)

    def _kernel(self, number: int) -> None:
        author, at = self._rng.choice(_AUTHORS), self._time()
        for version in range(1, self._rng.randint(1, 6) + 1):
            notebook = self._rng.random() < 0.5
            id, path = f"{600_000 + 100 * number + version}", f"kernels/crowd-{number}-{version}"
            path += ".ipynb" if notebook else ".py"
            self.files[path] = self._notebook() if notebook else f"# {self._text(9)}\nprint({version})\n"
            self.rows["kernels"].append(
                {
                    **{"id": id, "ref": f"{author.replace(' ', '')}/crowd-{number}", "version": version},
                    **{"title": f"Crowd {number}", "author": author, "tier": None, "created_at": iso(at), "votes": 1},
                    **{"public_score": None, "language": "python", "kind": "notebook" if notebook else "script"},
                    **{"datasets": [], "parent_ref": None, "path": path},
                }
            )
            self._read("kernel", id, at, author, score=self._rng.random() < 0.7)
            at += timedelta(hours=self._rng.expovariate(1 / 60))

    def _read(self, target: str, id: str, at: datetime, author: str, *, score: bool = False) -> None:
        """Let votes grow, and show the author's tier and a score now and then."""
        votes = 0
        for turn in range(self._rng.randint(1, 6)):
            tier = min(self._tiers[author] + (turn > 3), len(_TIERS) - 1)
            reading = {"target": target, "id": id, "at": iso(at), "votes": votes, "tier": _TIERS[tier]}
            self.rows["observations"].append(
                reading | {"public_score": round(self._rng.random(), 5) if score and turn else None}
            )
            votes += self._rng.randrange(4)
            at += timedelta(hours=self._rng.expovariate(1 / 80))

    def _time(self) -> datetime:
        return self._start + timedelta(days=self._rng.uniform(0.0, self._days))

    def _text(self, words: int) -> str:
        return " ".join(self._rng.choice(_WORDS) for _ in range(words))

    def _notebook(self) -> str:
        return json.dumps({"cells": list(self._cells()), "metadata": {}, "nbformat": 4, "nbformat_minor": 4})

    def _cells(self) -> Iterator[Row]:
        for _ in range(3):
            yield {"cell_type": "markdown", "metadata": {}, "source": self._text(8)}
