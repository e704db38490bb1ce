"""A tiny correct snapshot to break in one place at a time."""

import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scrapers.snapshots.card import Direction
from scrapers.snapshots.check import check
from state.files import sha256_of

METRICS: dict[str, Direction] = {
    "log_loss": "minimize",
    "rmse": "minimize",
    "rmsle": "minimize",
    "mean_columnwise_rmsle": "minimize",
    "mae": "minimize",
    "roc_auc": "maximize",
    "accuracy": "maximize",
}

MANIFEST: dict[str, Any] = {
    "format": 1,
    "slug": "small",
    "title": "Small",
    "url": None,
    "category": "tabular",
    "metric": {"name": "rmse", "direction": "minimize", "params": {}},
    "id_column": "id",
    "prediction_columns": ["y"],
    "submission_file": "submission.csv",
    "enabled_at": "2020-01-01T00:00:00Z",
    "deadline": "2020-03-01T00:00:00Z",
    "max_daily_submissions": 5,
    "kind": "csv",
    "collected_at": "2020-04-01T00:00:00Z",
    "split": "by hand",
    "sources": ["written for the tests"],
    "sha256": {},
}
TOPIC: dict[str, Any] = {
    "id": 1,
    "title": "Hello",
    "author": "ann",
    "tier": "EXPERT",
    "posted_at": "2020-01-02T10:00:00Z",
    "votes": 3,
    "url": None,
    "source": None,
}
MESSAGE: dict[str, Any] = {
    "id": 11,
    "topic_id": 1,
    "parent_id": None,
    "author": "ann",
    "tier": "EXPERT",
    "posted_at": "2020-01-02T10:00:00Z",
    "edited_at": None,
    "votes": 2,
    "markdown": "Scale the columns.",
    "deleted": False,
}
KERNEL: dict[str, Any] = {
    "id": 21,
    "ref": "ann/first",
    "version": 1,
    "title": "First",
    "author": "ann",
    "tier": "EXPERT",
    "created_at": "2020-01-03T10:00:00Z",
    "votes": 1,
    "public_score": 0.5,
    "language": "python",
    "kind": "script",
    "datasets": [],
    "parent_ref": None,
    "path": "kernels/first.py",
    "url": None,
    "source": None,
}
OBSERVATION: dict[str, Any] = {
    "target": "kernel",
    "id": 21,
    "at": "2020-01-04T10:00:00Z",
    "votes": 1,
    "public_score": 0.5,
    "tier": "EXPERT",
}


def write_small(folder: Path) -> Path:
    """Write the snapshot and return its folder."""
    for name in ("data", "private", "community/kernels"):
        (folder / name).mkdir(parents=True)
    (folder / "description.md").write_text("# Small\n\nPredict y.\n", encoding="utf-8")
    write_csv(folder / "data/train.csv", ["id", "x", "y"], [[i, i / 2, i % 3] for i in range(20)])
    write_csv(folder / "data/test.csv", ["id", "x"], [[i, i / 2] for i in range(100, 108)])
    write_csv(folder / "data/sample_submission.csv", ["id", "y"], [[i, 0] for i in range(100, 108)])
    write_csv(folder / "private/answers.csv", ["id", "y"], [[i, i % 4] for i in range(100, 108)])
    write_csv(folder / "leaderboard.csv", ["rank", "score"], [[1, 0.1], [2, 0.2], [3, 0.2]])
    with zipfile.ZipFile(folder / "data/images.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("train/0.txt", "picture " * 1000)
        archive.writestr("train/1.txt", "".join(str(i**3) for i in range(2000)))
    write_rows(folder, "topics", [TOPIC])
    write_rows(folder, "messages", [MESSAGE])
    write_rows(folder, "kernels", [KERNEL])
    write_rows(folder, "observations", [OBSERVATION])
    (folder / "community/kernels/first.py").write_text("print('hello')\n", encoding="utf-8")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and "community" not in path.parts]
    write_manifest(folder, sha256={path.relative_to(folder).as_posix(): sha256_of(path) for path in files})
    return folder


def write_manifest(folder: Path, **changes: Any) -> None:
    """Write the manifest with changed fields; without a word on `sha256` it names no hashes."""
    (folder / "snapshot.json").write_text(json.dumps(MANIFEST | changes, indent=1), encoding="utf-8")


def write_rows(folder: Path, name: str, rows: Sequence[object]) -> None:
    """Write one file of `community/`."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (folder / f"community/{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Write a table without any quoting."""
    lines = [",".join(str(cell) for cell in row) for row in (header, *rows)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def problems_after(folder: Path, change: Callable[[Path], object]) -> list[str]:
    """Write a correct snapshot that names no hashes, change it, and return all problems as text."""
    write_manifest(write_small(folder))
    change(folder)
    return [str(problem) for problem in check(folder, METRICS).problems]
