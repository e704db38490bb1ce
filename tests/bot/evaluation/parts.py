"""Small competitions on disk, and the real ones, for the tests of evaluation."""

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from scrapers.snapshots.card import TaskCard
from tests import needs

SLUGS = (
    "aerial-cactus-identification",
    "bike-sharing-demand",
    "leaf-classification",
    "nomad2018-predict-transparent-conductors",
    "spooky-author-identification",
)
DIRECTIONS = {"roc_auc": "maximize", "accuracy": "maximize"}


def card(metric: str = "rmse", columns: Sequence[str] = ("y",), id_column: str = "id", **params: Any) -> TaskCard:
    return TaskCard(
        slug="small",
        title="Small",
        category="tabular",
        description="",
        metric={"name": metric, "direction": DIRECTIONS.get(metric, "minimize"), "params": params},
        id_column=id_column,
        prediction_columns=tuple(columns),
        enabled_at="2020-01-01T00:00:00Z",
        deadline="2020-02-01T00:00:00Z",
    )


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def read(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def column(path: Path, name: str) -> list[str]:
    header, *rows = read(path)
    return [row[header.index(name)] for row in rows]


def competition(
    folder: Path,
    train: Sequence[Sequence[Any]],
    test: Sequence[Sequence[Any]],
    header: Sequence[str] = ("id", "x", "y"),
    submission: Sequence[str] = ("id", "y"),
    default: Sequence[Any] = (0,),
) -> Path:
    """Write train.csv, test.csv (the columns but the last) and sample_submission.csv; returns the folder."""
    write(folder / "train.csv", header, train)
    write(folder / "test.csv", header[:-1], test)
    write(folder / "sample_submission.csv", submission, ([row[0], *default] for row in test))
    return folder


def real(slug: str) -> tuple[Path, TaskCard]:
    """Return a real snapshot's folder and card, or skip."""
    folder = needs.snapshots() / slug
    if not folder.is_dir():
        needs.missing(f"there is no snapshot {slug}")
    manifest = json.loads((folder / "snapshot.json").read_text())
    names = TaskCard.model_fields.keys() & manifest.keys()
    known = {name: manifest[name] for name in names if name != "sources"}
    return folder, TaskCard(**known, description="")
