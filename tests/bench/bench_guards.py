"""What guards say of clean re-splits of the snapshots, and of planted leaks.

Clean: `RESPLITS` re-splits of each snapshot (see `resplits`), the hold-out view as a run has it, and three plain models one after
another, each with the score of its own three folds printed. Whatever has not passed is a false alarm.

Planted: leaks in the rows of such re-splits, and executions that are not what they seem. Each must be found by its guard; others
that speak up as well are printed.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView, OtherNode
from bot.evaluation.answers.findings import Finding
from bot.evaluation.guards.running import guard_execution, guard_view
from bot.evaluation.metrics.registry import metric_named
from bot.evaluation.scoring.score import score_execution
from bot.evaluation.views.build import build_view
from tests.bench.leaks import IN_DATA, NOMAD, Plant
from tests.bench.plain_models import MODELS, Features, labels_of, predict, write_predictions
from tests.bench.resplits import Labelled, Resplit, all_slugs, labelled, resplit

RESPLITS = int(os.environ.get("BENCH_RESPLITS", "4"))
FIRST_SEED = int(os.environ.get("BENCH_FIRST_SEED", "100"))
FOLDS = 3

Values = NDArray[Any]


@dataclass
class Tried:
    """A re-split with its view, and the models that were tried on it."""

    of: Labelled
    folder: Path
    split: Resplit
    features: Features

    def __post_init__(self) -> None:
        build_view(self.split.data, self.of.card, "holdout", 0, self.view, self.labels)
        self.seen, self.known = labels_of(self.view, self.of.card)
        lines = (self.view / "sample_validation.csv").read_text(encoding="utf-8").splitlines()[1:]
        self.asked = [line.split(",")[0] for line in lines]
        self.hidden = self.split.answers[self.of.card.id_column].tolist()
        self.others: list[OtherNode] = []

    @property
    def view(self) -> Path:
        return self.folder / "view"

    @property
    def labels(self) -> Path:
        return self.folder / "labels"

    def model(self, name: str) -> tuple[Values, Values]:
        """Return a model's predictions of the validation and of the hidden rows."""
        rows = self.features.of([*self.asked, *self.hidden])
        both = predict(name, self.of, self.features.of(self.seen), self.known, rows)
        return both[: len(self.asked)], both[len(self.asked) :]

    def printed(self, name: str) -> str:
        """Return what a script prints that cross-validates the model on its training rows."""
        rng, metric = np.random.default_rng(0), metric_named(self.of.card.metric.name)
        fold, scores = rng.permutation(len(self.seen)) % FOLDS, []
        rows = self.features.of(self.seen)
        for number in range(FOLDS):
            inside, out = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
            guess = predict(name, self.of, rows[inside], self.known[inside], rows[out])
            scores.append(metric.score(self.known[out], guess, self.of.card.metric.params))
        table = "".join(f"fold {at + 1}: {score:.5f}\n" for at, score in enumerate(scores))
        return f"{table}cross-validated {metric.name}: {np.mean(scores):.5f}\n"

    def guarded(self, name: str, asked: Values, hidden: Values, output: str = "", **more: Any) -> list[Finding]:
        """Have the guards look at an execution, which is another node to those after it."""
        card = self.of.card
        files = [
            write_predictions(self.folder / name / f"{kind}.csv", card, ids, values)
            for kind, ids, values in (("validation", self.asked, asked), ("submission", self.hidden, hidden))
        ]
        score = score_execution(LabelledView(self.view, self.labels, card), *files).score
        found = guard_execution(
            self.labels, self.view, *files, card, score, output, self.others, seconds=3600.0, **more
        )
        number = len(self.others) + 1
        self.others.append(OtherNode(node=number, score=score, predictions=files[0], submission=files[1]))
        return found


def clean(slug: str, of: Labelled, features: Features) -> list[str]:
    """Return the false alarms on the re-splits of one snapshot."""
    alarms = []
    for seed in range(RESPLITS):
        with tempfile.TemporaryDirectory() as place:
            tried = Tried(of, Path(place), resplit(of, Path(place), FIRST_SEED + seed), features)
            told = guard_view(tried.view, tried.labels, of.card, seconds=3600.0)
            for name in ("neighbours", "trees", "linear"):
                told += tried.guarded(name, *tried.model(name), tried.printed(name))
        alarms += [
            f"{slug}, re-split {seed}: {one.guard} ({one.verdict}): {one.sentence}" for one in told if not one.passed
        ]
    return alarms


def planted_in_data(of: Labelled, plant: Plant) -> list[Finding]:
    """Plant a leak in the rows of a re-split, and look at its view."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        split = resplit(of, folder, 7)
        train = pd.read_csv(split.data / "train.csv", dtype=str, keep_default_na=False)
        id, label = of.card.id_column, _label(of)
        train, test = plant(train, split.answers, id, label)
        lacking = [name for name in split.answers if name not in of.tested]
        train.to_csv(split.data / "train.csv", index=False)
        test.drop(columns=lacking).to_csv(split.data / "test.csv", index=False)
        sample = pd.read_csv(split.data / "sample_submission.csv", dtype=str)
        sample.assign(**{id: test[id].tolist()}).to_csv(split.data / "sample_submission.csv", index=False)
        build_view(split.data, of.card, "holdout", 0, folder / "view", folder / "labels")
        return guard_view(folder / "view", folder / "labels", of.card, seconds=3600.0)


def _label(of: Labelled) -> str:
    lacking = [name for name in of.train if name not in of.tested]
    return next((name for name in of.card.prediction_columns if name in lacking), lacking[0])


def planted_in_executions(of: Labelled, features: Features) -> list[tuple[str, str, list[Finding]]]:
    """Leave what no honest execution does, one after another: what it is, the guard that is to find it, what was found."""
    with tempfile.TemporaryDirectory() as place:
        tried = Tried(of, Path(place), resplit(of, Path(place), 7), features)
        asked, hidden = tried.model("linear")
        tried.guarded("baseline", *tried.model("neighbours"))
        labels = pd.read_csv(tried.labels / "labels.csv", dtype={of.card.id_column: str}).set_index(of.card.id_column)
        truth = labels.loc[tried.asked].to_numpy(float)
        public = tried.folder / "outputs"
        write_predictions(public / "best.csv", of.card, tried.hidden, hidden * 1.01)
        last = np.argsort([len(id) * 10**9 + int(id) for id in tried.asked])[-len(asked) // 5 :]
        broken = asked.copy()
        broken[last] = asked.mean(axis=0) * 6
        score = metric_named(of.card.metric.name).score(truth, asked, of.card.metric.params)
        leaves: Sequence[tuple[str, str, Callable[[], list[Finding]]]] = (
            ("labels of the validation rows known", "too good", lambda: tried.guarded("a", truth * 1.001, hidden)),
            ("a submission of one value", "constant", lambda: tried.guarded("b", asked, np.ones_like(hidden))),
            ("the order of a public file", "copied", lambda: tried.guarded("c", asked, hidden, public=public)),
            (
                "a score printed that is a third of the file's",
                "printed score",
                lambda: tried.guarded("d", asked, hidden * 1.1, f"validation score: {score / 3:.5f}\n"),
            ),
            ("a fifth of the rows predicted at random", "folds", lambda: tried.guarded("e", broken, hidden * 0.9)),
            ("the file of an earlier node", "copied", lambda: tried.guarded("f", asked, hidden * 0.9)),
        )
        found = []
        for what, guard, leave in leaves:
            before = list(tried.others)
            found.append((what, guard, leave()))
            # The one that knows the labels must not be what the others are compared with.
            tried.others = before if guard == "too good" else tried.others
        return found


def main() -> None:
    if not os.environ.get("BOT_SNAPSHOTS"):
        print("BOT_SNAPSHOTS is not set: it names a folder of snapshots")
        return
    began, slugs = time.monotonic(), sys.argv[1:] or all_slugs()
    alarms, planted = [], []
    for slug in slugs:
        of = labelled(slug)
        features = Features(of)
        alarms += (new := clean(slug, of, features))
        print(f"{slug}: {RESPLITS} clean re-splits, {len(new)} false alarms", *new, sep="\n  ", flush=True)
        for what, (where, guard, plant) in IN_DATA.items():
            if where == slug:
                planted.append((f"{what} ({slug})", guard, planted_in_data(of, plant)))
        if slug == NOMAD:
            planted += [
                (f"{what} ({slug})", guard, found) for what, guard, found in planted_in_executions(of, features)
            ]
    hits = 0
    for what, guard, found in planted:
        doubted = {one.guard: one.sentence for one in found if one.verdict == "suspicious"}
        hits += guard in doubted
        more = [name for name in doubted if name != guard]
        told = doubted.get(guard, f"NOT FOUND by {guard!r}")
        print(f"{what}: {told}{f'; also {more}' if more else ''}", flush=True)
    print(
        f"{len(alarms)} false alarms on {RESPLITS * len(slugs)} clean re-splits with {len(MODELS)} models each; {hits} of "
        f"{len(planted)} planted leaks found; {time.monotonic() - began:.0f} s, {time.process_time():.0f} s of a processor"
    )


if __name__ == "__main__":
    main()
