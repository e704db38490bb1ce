"""Reads `evaluations.toml`: evaluation pages as hosts might write them, each with what is true of it."""

import asyncio
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scrapers.kaggle.card.evidence import Evidence, Sample, Tables
from scrapers.kaggle.card.pages import in_markdown
from scrapers.kaggle.competitions import CompetitionPage, KaggleCompetition
from tests.scrapers.in_process import Here

BOARDS = {"up": ("0.1021", "0.1034", "0.1034", "0.2", "0.90"), "down": ("0.981", "0.98", "0.9799", "0.5")}
DATA: dict[str, dict[str, Any]] = {
    "houses": {"sample": ["id", "price"], "train": ["id", "size", "rooms", "price"], "test": ["id", "size", "rooms"]},
    "two targets": {
        "sample": ["id", "a_energy", "b_energy"],
        "train": ["id", "x", "a_energy", "b_energy"],
        "test": ["id", "x"],
    },
    "three classes": {
        "sample": ["id", "oak", "ash", "elm"],
        "train": ["id", "x", "species"],
        "test": ["id", "x"],
        "labels": {"species": ["oak", "ash", "elm"]},
    },
}
DEFAULTS = {"eps": 1e-15, "normalize": True}
"""Log loss's own parameters: to name them changes nothing."""


@dataclass(frozen=True)
class Case:
    """A competition, and what is true of it."""

    name: str
    metric: str | None
    """The official metric; None: nobody could be certain of one that can be computed."""
    id_column: str
    predictions: tuple[str, ...]
    params: dict[str, Any]
    answerable: bool
    """Whether metric and columns can be told by a person."""
    evidence: Evidence


def load_cases() -> list[Case]:
    """Return all cases."""
    content = tomllib.loads((Path(__file__).parent / "evaluations.toml").read_text(encoding="utf-8"))
    return [_case(entry) for entry in content["case"]]


def make_evidence(
    evaluation: str,
    *,
    field: str = "",
    board: Sequence[str] = BOARDS["up"],
    tables: Tables | None = None,
    pages: Sequence[tuple[str, str]] = (),
    mime: str = "text/markdown",
    **fields: Any,
) -> Evidence:
    """Return what Kaggle would give of a competition with this evaluation page."""
    told = {
        "ref": "https://www.kaggle.com/competitions/house-pricing",
        "title": "House Pricing",
        "category": "Playground",
        "evaluation_metric": field,
        "enabled_date": datetime(2026, 11, 1, tzinfo=UTC),
        "deadline": datetime(2026, 12, 1, tzinfo=UTC),
        "max_daily_submissions": 5,
    }
    given = [("evaluation", evaluation), *pages]
    shown = as_markdown([CompetitionPage(name=name, content=text, mime_type=mime) for name, text in given])
    competition = KaggleCompetition.model_validate(told | fields)
    return Evidence("house-pricing", competition, shown, tables or make_tables(DATA["houses"]), tuple(board))


def as_markdown(pages: Sequence[CompetitionPage]) -> tuple[CompetitionPage, ...]:
    return asyncio.run(in_markdown(pages, Here()))


def make_tables(data: dict[str, Any], rows: Sequence[Sequence[str]] = (), *, sampled: bool = True) -> Tables:
    """Return the tables of these headers; an empty one is none."""
    header = data["sample"]
    cells = rows or [(str(n), *("0.5" for _ in header[1:])) for n in range(1, 6)]
    labels = {name: frozenset(values) for name, values in data.get("labels", {}).items()}
    sample = Sample.from_rows(header, cells) if sampled else None
    return Tables(sample, tuple(data["train"]) or None, tuple(data["test"]) or None, labels)


def _case(entry: dict[str, Any]) -> Case:
    data = DATA[entry.get("data", "houses")] | {
        k: entry[k] for k in ("sample", "train", "test", "labels") if k in entry
    }
    board = entry.get("board", "up")
    evidence = make_evidence(
        entry["evaluation"],
        field=entry.get("field", ""),
        board=BOARDS[board] if isinstance(board, str) else board,
        tables=make_tables(data, entry.get("rows", ()), sampled=not entry.get("without_sample", False)),
        pages=tuple(entry.get("pages", {}).items()),
        mime=entry.get("mime", "text/markdown"),
    )
    answerable = "metric" in entry and entry.get("columns", True)
    return Case(
        name=entry["name"],
        metric=entry.get("metric"),
        id_column=data["sample"][0],
        predictions=tuple(data["sample"][1:]),
        params=DEFAULTS | entry.get("params", {}),
        answerable=answerable,
        evidence=evidence,
    )
