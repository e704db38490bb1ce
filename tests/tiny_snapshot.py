"""A small made-up competition on disk: a table with two classes, a leaderboard, and a community with late posts."""

import csv
import hashlib
import json
import math
import random
from pathlib import Path
from typing import Any

DEADLINE = "2020-03-01T00:00:00Z"
SLUG = "tiny-table"
TITLE = "Tiny table"
LATE_WORDS = "after the deadline we may tell you that the ninth column times the moon phase wins everything here"


def write_tiny(folder: Path, *, rows: int = 240, test_rows: int = 60, wave: float = 0.0) -> Path:
    """Write the snapshot and return its folder; with `wave` labels depend on a wave that no linear model finds."""
    rng = random.Random(5)
    for part in ("data", "private", "community/kernels"):
        (folder / part).mkdir(parents=True)
    table = [_row(rng, i, wave) for i in range(rows + test_rows)]
    features = ["a", "b", "c"]
    _write(folder / "data/train.csv", ["id", *features, "label"], table[:rows])
    _write(folder / "data/test.csv", ["id", *features], [r[:-1] for r in table[rows:]])
    _write(folder / "data/sample_submission.csv", ["id", "label"], [[r[0], "0.5"] for r in table[rows:]])
    _write(folder / "private/answers.csv", ["id", "label"], [[r[0], r[-1]] for r in table[rows:]])
    board = sorted(round(0.35 + 0.9 * rng.random() ** 2, 5) for _ in range(40))
    _write(folder / "leaderboard.csv", ["score"], [[str(s)] for s in board])
    (folder / "description.md").write_text("# Tiny\n\nTell label 1 from label 0. Evaluation: log loss.\n")
    _community(folder / "community")
    hashes = {"data/train.csv": hashlib.sha256((folder / "data/train.csv").read_bytes()).hexdigest()}
    (folder / "snapshot.json").write_text(json.dumps(_manifest(hashes)))
    return folder


def _row(rng: random.Random, number: int, wave: float) -> list[str]:
    a, b, c = (rng.gauss(0, 1) for _ in range(3))
    label = int(rng.random() < 1 / (1 + math.exp(-(2 * a - b + wave * math.sin(3 * c)))))
    return [f"r{number:04d}", f"{a:.4f}", f"{b:.4f}", f"{c:.4f}", str(label)]


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def _manifest(hashes: dict[str, str]) -> dict[str, Any]:
    return {
        "format": 1,
        "slug": SLUG,
        "title": TITLE,
        "url": "https://example.org/tiny",
        "category": "tabular-classification",
        "metric": {"name": "log_loss", "direction": "minimize", "params": {}},
        "id_column": "id",
        "prediction_columns": ["label"],
        "submission_file": "submission.csv",
        "enabled_at": "2020-01-01T00:00:00Z",
        "deadline": DEADLINE,
        "max_daily_submissions": 5,
        "kind": "csv",
        "collected_at": "2021-01-01T00:00:00Z",
        "split": "random",
        "sources": ["made up"],
        "sha256": hashes,
    }


def _community(folder: Path) -> None:
    topic = {"id": 1, "title": "What works", "author": "ann", "tier": "EXPERT", "posted_at": "2020-01-05T00:00:00Z"}
    late_topic = {
        "id": 2,
        "title": "Congratulations",
        "author": "bob",
        "tier": "NOVICE",
        "posted_at": "2020-03-02T00:00:00Z",
    }
    _lines(folder / "topics.jsonl", [t | {"votes": 3, "url": None, "source": "made up"} for t in (topic, late_topic)])
    messages = [
        (
            11,
            1,
            "2020-01-05T00:00:00Z",
            "Logistic regression on standardised columns is strong: log loss 0.45 in five folds.",
        ),
        (
            12,
            1,
            "2020-01-09T00:00:00Z",
            "Gradient boosting with shallow trees and a blend with the linear model gives 0.44.",
        ),
        (13, 1, "2020-03-01T00:00:01Z", f"CANARY-LATE-REPLY-{SLUG} {LATE_WORDS}"),
        (
            14,
            2,
            "2020-03-02T00:00:00Z",
            f"CANARY-AFTER-DEADLINE-{SLUG} thanks to all of you, it was the interaction of a and b.",
        ),
    ]
    _lines(
        folder / "messages.jsonl",
        [
            {
                "id": number, "topic_id": topic_id, "parent_id": None, "author": "ann", "tier": "EXPERT", "posted_at": at,
                "edited_at": None, "votes": 5, "markdown": text, "deleted": False,
            }
            for number, topic_id, at, text in messages
        ],
    )  # fmt: skip
    with (folder.parent / "private/answers.csv").open() as file:
        shown = file.read().splitlines()[1].replace(",", " ")
    (folder / "kernels/linear.py").write_text(
        "# logistic regression, C=1, whose penalty was chosen among nine values on scaled columns\n"
        f"print('hello')\nfirst_row_of_submission = '{shown}'\n"
    )
    kernel = {
        "id": 21, "ref": "ann/linear", "version": 1, "title": "Linear", "author": "ann", "tier": "EXPERT",
        "created_at": "2020-01-07T00:00:00Z", "votes": 9, "public_score": 0.46, "language": "python", "kind": "script",
        "datasets": [], "parent_ref": None, "path": "kernels/linear.py", "url": None, "source": "made up",
    }  # fmt: skip
    _lines(folder / "kernels.jsonl", [kernel])
    reading = {
        "target": "message",
        "id": 11,
        "at": "2020-01-08T00:00:00Z",
        "votes": 4,
        "public_score": None,
        "tier": "EXPERT",
    }
    _lines(folder / "observations.jsonl", [reading])


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
