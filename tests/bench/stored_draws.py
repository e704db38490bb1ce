"""What stored runs show of skill and durations, for the simulation of many slots: kept in stored_draws.json.

`python -m tests.bench.stored_draws RUN_FOLDER...` reads it anew from finished runs of a language model. A script's *gap* is
how far it is from the best that is attainable, where that of the safe baseline is 1. What is attainable nobody knows: it is
taken to lie beyond the best script of all these runs by a twentieth of what that one gained over the baseline.
"""

import json
import math
import random
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_suffix(".json")
BEYOND = 0.05
NEAREST = 6
"""Stored scripts that one is drawn from."""


@dataclass(frozen=True)
class Draw:
    """One script that a lab had scored."""

    before: float
    """Gap of the script that it went on from; for the first script of a lab the baseline's, which is 1."""
    ratio: float
    """Its own gap over that."""
    seconds: float
    """From the lab's start, or from the score before it, to its score."""
    error: float
    """Standard error of its gain, in units of the baseline's gap; 0: unknown."""
    families: tuple[str, ...]


@dataclass(frozen=True)
class Draws:
    """All scripts of all stored labs."""

    first: tuple[Draw, ...]
    later: tuple[Draw, ...]
    failed: float
    """Share of the scripts that had no score."""

    @classmethod
    def read(cls) -> "Draws":
        """Return those that are kept."""
        kept = json.loads(KEPT.read_text())
        first, later = (
            tuple(Draw(**{**one, "families": tuple(one["families"])}) for one in kept[part])
            for part in ("first", "later")
        )
        return cls(first, later, kept["failed"])

    def from_near(self, gap: float, rng: random.Random) -> Draw:
        """Draw a script that went on from one of about this gap: what is nearly done gains less."""
        return rng.choice(sorted(self.later, key=lambda one: abs(math.log(one.before / gap)))[:NEAREST])


@dataclass(frozen=True)
class _Run:
    competition: str
    baseline: float
    nodes: Sequence[Any]
    labs: dict[str, datetime]
    errors: dict[int, float]


def _read(database: Path) -> _Run:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as rows:
        query = "SELECT id, action, status, score, draft_id, ended_at, families FROM node ORDER BY id"
        nodes = [one for one in rows.execute(query) if one[1] in ("draft", "improve", "debug")]
        labs = {draft: datetime.fromisoformat(at) for draft, at in rows.execute("SELECT draft_id, started_at FROM lab")}
        error = "json_extract(result, '$.score.noise.gain_error')"
        errors = dict(rows.execute(f"SELECT node, {error} FROM step WHERE {error} IS NOT NULL").fetchall())  # noqa: S608
    baseline = next(one[3] for one in nodes if one[0] == 1)
    return _Run(database.parent.name.split("-")[0], baseline, nodes, labs, errors)


def _draws(runs: Iterable[_Run], best: float) -> Iterator[tuple[bool, Draw | None]]:
    """Yield for each script of a lab whether it was the first, and what is drawn; None for one that failed. Lower is better."""
    for run in runs:
        unit = (run.baseline - best) * (1 + BEYOND)
        floor = run.baseline - unit
        for draft, since in run.labs.items():
            before = 1.0
            for id, _, status, score, own, ended, families in run.nodes:
                if own != draft or status not in ("valid", "buggy"):
                    continue
                if score is None:
                    yield before == 1, None
                    continue
                at, gap = datetime.fromisoformat(ended), (score - floor) / unit
                seconds, error, kinds = (
                    (at - since).total_seconds(),
                    run.errors.get(id, 0.0) / unit,
                    json.loads(families),
                )
                yield before == 1, Draw(before, gap / before, seconds, error, tuple(kinds))
                before, since = gap, at


def main(folders: Sequence[str]) -> None:
    """Read them and keep what they show."""
    runs = defaultdict(list)
    for folder in folders:
        run = _read(Path(folder) / "state.db")
        runs[run.competition].append(run)
    found = []
    for those in runs.values():
        found += _draws(those, min(one[3] for run in those for one in run.nodes if one[3] is not None))
    kept = Draws(
        tuple(draw for first, draw in found if first and draw),
        tuple(draw for first, draw in found if not first and draw),
        sum(draw is None for _, draw in found) / len(found),
    )
    KEPT.write_text(json.dumps(asdict(kept), indent=1) + "\n")
    print(f"{len(kept.first)} first and {len(kept.later)} later scripts, {kept.failed:.1%} failed")


if __name__ == "__main__":
    main(sys.argv[1:])
