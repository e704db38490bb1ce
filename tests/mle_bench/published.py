"""MLE-bench's repository as published, with data of each competition's shape, and submissions better and worse.

Nothing of the repository is copied into this one. Its leaderboards are pointers of Git LFS until they are pulled; for a pointer a
leaderboard is made, of one of four sizes, so that every rule for medals has its turn.
"""

import csv
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from bot.research.importers.mle_bench.prepared_files import is_pointer
from tests.mle_bench.kinds import Cells
from tests.mle_bench.shapes import Shape, shapes

REPOSITORY = "BOT_MLE_BENCH"
SEEDS = ("perfect", "noisy", "noisier")
"""Submissions that stand for three runs of each competition."""
SUBMISSIONS = (*SEEDS, "sample", "reordered", "short")
_SIZES = (50, 150, 600, 1500)
_UPSTREAM = Path(__file__).with_name("upstream.py")


@dataclass(frozen=True)
class Repository:
    """A checkout, and the Python that has what it needs."""

    folder: Path
    python: Path

    def run(self, script: Path, *arguments: str, cwd: Path) -> str:
        """Run a script of its own, or of the tests, and return what it prints."""
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            [self.python, script, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout


def repository() -> Repository:
    """Return the checkout that BOT_MLE_BENCH names; without one the test is skipped, under BOT_REQUIRE_ALL too.

    The repository is nobody's dependency and comes with no package, so that continuous integration has none.
    """
    name = os.environ.get(REPOSITORY)
    if not name:
        pytest.skip(
            f"{REPOSITORY} is not set: it names a checkout of openai/mle-bench with a virtual environment in .venv"
        )
    found = Repository(Path(name).resolve(), Path(name).resolve() / ".venv/bin/python")
    if not found.python.is_file() or not (found.folder / "mlebench/registry.py").is_file():
        pytest.skip(f"{REPOSITORY} names no checkout of openai/mle-bench with a virtual environment in .venv: {name}")
    return found


@dataclass(frozen=True)
class Bench:
    """Prepared competitions below a folder: `data/`, `competitions/` and `submissions/`."""

    root: Path
    repository: Repository
    slugs: tuple[str, ...]

    def submission(self, slug: str, name: str) -> Path:
        return self.root / "submissions" / slug / f"{name}.csv"

    def list_of(self, slugs: Sequence[str], names: Sequence[str]) -> Path:
        """Write the list of these competitions' submissions, in MLE-bench's format."""
        path = self.root / f"{'-'.join(names)}.jsonl"
        lines = [
            {"competition_id": slug, "submission_path": str(self.submission(slug, name))}
            for slug in slugs
            for name in names
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def graded_upstream(self, submissions: Path) -> dict[str, Any]:
        """Return the grading report of MLE-bench's own `grade_jsonl`."""
        out = self.root / "upstream"
        shutil.rmtree(out, ignore_errors=True)
        arguments = (submissions, self.root / "data", self.root / "competitions", out)
        self.repository.run(_UPSTREAM, *map(str, arguments), cwd=self.root)
        (report,) = out.glob("*_grading_report.json")
        found: dict[str, Any] = json.loads(report.read_text())
        return found


def prepare(root: Path, found: Repository, only: Sequence[str] = ()) -> Bench:
    """Write data of the shape of every competition of the registry, or of some."""
    known = shapes(found.folder)
    folders = sorted(path.parent for path in (found.folder / "mlebench/competitions").glob("*/config.yaml"))
    assert {folder.name for folder in folders} == known.keys(), (
        "the registry's competitions are not those of the shapes"
    )
    chosen = [folder for folder in folders if not only or folder.name in only]
    for place, folder in enumerate(chosen):
        package = root / "competitions" / folder.name
        shutil.copytree(folder, package)
        if is_pointer(board := package / "leaderboard.csv"):
            _write_board(board, known[folder.name], _SIZES[place % len(_SIZES)])
        _Writer(root, folder.name, known[folder.name], yaml.safe_load((folder / "config.yaml").read_text())).write()
    return Bench(root, found, tuple(folder.name for folder in chosen))


def _write_board(path: Path, shape: Shape, teams: int) -> None:
    best, worst = (0.0, shape.worst) if shape.lower else (1.0, 0.0)
    scores = [round(best + (worst - best) * place / teams, 5) for place in range(teams)]
    header = ("scoreNullable", "teamId", "hasTeamName", "submissionDate", "score", "hasScore")
    rows = [
        (score, place, True, f"2019-03-{1 + place % 28:02d} 10:20:30", score, True)
        for place, score in enumerate(scores)
    ]
    _write_table(path, header, rows)


def _write_table(path: Path, header: Sequence[str], rows: Sequence[Cells]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


@dataclass(frozen=True)
class _Writer:
    """Writes one competition."""

    root: Path
    slug: str
    shape: Shape
    config: Mapping[str, Any]

    def write(self) -> None:
        shape, rng = self.shape, Random(self.slug)
        keys = [shape.ids(place) for place in range(shape.rows)]
        drawn: dict[Cells, Cells] = {}
        truth = [drawn.setdefault(key, shape.kind.truth(rng)) for key in keys]  # rows with one id have one truth
        _vary(truth)
        perfect = [shape.kind.predicted(cells) for cells in truth]
        dataset = self.config["dataset"]
        data = self.root / "data"
        self._answers(data / dataset["answers"], keys, truth, rng)
        self._table(data / dataset["sample_submission"], keys, [shape.kind.sample] * len(keys))
        if gold := dataset.get("gold_submission"):
            self._table(data / gold, keys, perfect)
        public = data / self.slug / "prepared/public"
        public.mkdir(parents=True, exist_ok=True)
        (public / "description.md").write_text(f"# {self.slug}\n")
        self._train(public, rng)
        self._submissions(keys, perfect, rng)

    def _table(self, path: Path, keys: Sequence[Cells], cells: Sequence[Cells]) -> None:
        rows = [key + row for key, row in zip(keys, cells, strict=True)]
        _write_table(path, (*self.shape.key, *self.shape.columns), rows)

    def _answers(self, path: Path, keys: Sequence[Cells], truth: Sequence[Cells], rng: Random) -> None:
        shape = self.shape
        if shape.special == "questions":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in _questions(keys, truth)))
        elif shape.special == "boxes":
            _write_table(path, ("image_id", "class_id", "x_min", "y_min", "x_max", "y_max"), _boxes(keys, truth))
        else:
            more = [tuple(make(rng, place) for make in shape.extra.values()) for place in range(len(keys))]
            columns = [shape.renamed.get(name, name) for name in shape.columns]
            known = [shape.not_scored or cells if at % 4 == 0 else cells for at, cells in enumerate(truth)]
            rows = [key + cells + extra for key, cells, extra in zip(keys, known, more, strict=True)]
            _write_table(path, (*shape.key, *columns, *shape.extra), rows)

    def _train(self, public: Path, rng: Random) -> None:
        """Write training rows with other ids, as most competitions have them."""
        keys = [tuple(f"t{cell}" for cell in self.shape.ids(place)) for place in range(self.shape.rows)]
        self._table(public / "train.csv", keys, [self.shape.kind.truth(rng) for _ in keys])

    def _submissions(self, keys: Sequence[Cells], perfect: Sequence[Cells], rng: Random) -> None:
        noisy, noisier = ([self.shape.kind.noisy(rng, cells) for cells in perfect] for _ in range(2))
        noisier = [self.shape.kind.noisy(rng, cells) for cells in noisier]
        order = rng.sample(range(len(keys)), len(keys))
        folder = self.root / "submissions" / self.slug
        self._table(folder / "perfect.csv", keys, perfect)
        self._table(folder / "noisy.csv", keys, noisy)
        self._table(folder / "noisier.csv", keys, noisier)
        self._table(folder / "sample.csv", keys, [self.shape.kind.sample] * len(keys))
        self._table(folder / "reordered.csv", [keys[at] for at in order], [noisy[at] for at in order])
        self._table(folder / "short.csv", keys[:-1], noisy[:-1])


def _vary(truth: list[Cells]) -> None:
    """See to it that the first columns of classes that exclude one another each occur, as some graders need it."""
    many = len(truth[0])
    if many > 1 and all(sorted(map(str, row)) == ["0"] * (many - 1) + ["1"] for row in truth):
        for place in range(min(many, len(truth))):
            truth[place] = tuple(int(column == place) for column in range(many))


def _boxes(keys: Sequence[Cells], truth: Sequence[Cells]) -> list[Cells]:
    rows: list[Cells] = []
    for key, (text,) in zip(keys, truth, strict=True):
        parts = str(text).split()
        for at in range(0, len(parts), 6):
            kind, _, *corners = parts[at : at + 6]
            rows.append((*key, kind, *corners))
    return rows


def _questions(keys: Sequence[Cells], truth: Sequence[Cells]) -> list[dict[str, Any]]:
    rows = [(str(key[0]).split("_")[0], str(cells[0])) for key, cells in zip(keys, truth, strict=True)]
    made = []
    for (name, short), (_, long) in zip(rows[::2], rows[1::2], strict=True):
        annotation = {"yes_no_answer": "NONE", "long_answer": _span(long) or _span("-1:-1")}
        annotation["short_answers"] = [_span(short)] if short else []
        made.append({"example_id": name, "question_text": f"what is {name}", "annotations": [annotation]})
    return made


def _span(text: str) -> dict[str, int] | None:
    if not text:
        return None
    start, _, end = text.partition(":")
    return {"start_token": int(start), "end_token": int(end)}
