"""How often the hidden score lies in the interval that is printed beside the validation score.

For each snapshot `RESPLITS` re-splits (see `resplits`), for each the hold-out view as a run has it, and three plain models: each
is scored on the hold-out part, its interval computed, then it is trained again on all training rows and scored on the hidden
test. Printed are the hits a model, the interval's half width and how far the hidden score was, in the middle, and how often it
was better or worse than the interval. With `--own-grader` the same metric comes from a grade.py in a process of its own, for
which intervals are drawn in another way.
"""

import argparse
import os
import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bot.evaluation.answers import LabelledView
from bot.evaluation.metrics.registry import metric_named
from bot.evaluation.scoring.interval import validation_interval
from bot.evaluation.scoring.score import score_execution
from bot.evaluation.views.build import build_view
from scrapers.snapshots.card import TaskCard
from tests.bench.plain_models import MODELS, Features, labels_of, predict, write_predictions
from tests.bench.resplits import Labelled, all_slugs, labelled, resplit

GRADERS = {
    "log_loss": "p = said.clip(1e-15, 1 - 1e-15); p = p / p.sum(axis=1, keepdims=True); "
    "return -np.log((p * true).sum(axis=1)).mean()",
    "roc_auc": "from sklearn.metrics import roc_auc_score; return roc_auc_score(true[:, 0], said[:, 0])",
    "rmsle": "return np.sqrt(((np.log1p(true) - np.log1p(said)) ** 2).mean())",
    "mean_columnwise_rmsle": "return np.sqrt(((np.log1p(true) - np.log1p(said)) ** 2).mean(axis=0)).mean()",
}
"""What a grade.py says, by the metric that it is."""
SOURCE = """
import numpy as np
from mlebench.grade_helpers import InvalidSubmissionError


def grade(submission, answers):
    if submission[{id!r}].duplicated().any() or list(submission[{id!r}]) != list(answers[{id!r}]):
        raise InvalidSubmissionError("each id once")
    said, true = submission[{columns!r}].to_numpy(float), answers[{columns!r}].to_numpy(float)
    {formula}
"""
RESPLITS = int(os.environ.get("BENCH_RESPLITS", "20"))
WANTED = 0.85


@dataclass
class Tally:
    """What came of one model on one snapshot."""

    inside: list[bool] = field(default_factory=list)
    better: int = 0
    worse: int = 0
    widths: list[float] = field(default_factory=list)
    distances: list[float] = field(default_factory=list)

    def add(self, of: Labelled, low: float, high: float, validation: float, hidden: float) -> None:
        self.inside.append(low <= hidden <= high)
        beyond = of.card.oriented(hidden) > max(of.card.oriented(low), of.card.oriented(high))
        self.better += not self.inside[-1] and beyond
        self.worse += not self.inside[-1] and not beyond
        self.widths.append((high - low) / 2)
        self.distances.append(abs(hidden - validation))


def own_grader(of: Labelled, folder: Path) -> tuple[TaskCard, Path]:
    """Write the metric as a grade.py; returns the card that is scored by it, and where it is."""
    card, path = of.card, folder / "grade.py"
    formula = GRADERS[card.metric.name]
    path.write_text(SOURCE.format(id=card.id_column, columns=list(card.prediction_columns), formula=formula))
    return card.model_copy(update={"metric": card.metric.model_copy(update={"name": "grade.py", "params": {}})}), path


def tallies(slug: str, *, own: bool) -> dict[str, Tally]:
    """Try the models on all re-splits of a snapshot."""
    of = labelled(slug)
    features = Features(of)
    found = {name: Tally() for name in MODELS}
    for seed in range(RESPLITS):
        with tempfile.TemporaryDirectory() as place:
            one(of, features, Path(place), seed, found, own=own)
    return found


def one(of: Labelled, features: Features, folder: Path, seed: int, found: dict[str, Tally], *, own: bool) -> None:
    """Try the models on one re-split."""
    card, grader = own_grader(of, folder) if own else (of.card, None)
    split = resplit(of, folder, seed)
    view, labels = folder / "view", folder / "labels"
    build_view(split.data, of.card, "holdout", seed, view, labels)
    seen, known = labels_of(view, of.card)
    everything, all_known = labels_of(split.data, of.card)
    asked = [line.split(",")[0] for line in (view / "sample_validation.csv").read_text().splitlines()[1:]]
    hidden_ids = split.answers[of.card.id_column].tolist()
    truth = truth_of(of, split.answers, all_known.shape[1])
    metric = metric_named(of.card.metric.name)
    for name in MODELS:
        predicted = predict(name, of, features.of(seen), known, features.of(asked))
        path = write_predictions(folder / f"{name}.csv", of.card, asked, predicted)
        again = predict(name, of, features.of(everything), all_known, features.of(hidden_ids))
        hidden = metric.score(truth, again, of.card.metric.params)
        # However slow the machine is at the moment.
        told = validation_interval(LabelledView(view, labels, card, grader), path, seed, seconds=3600.0)
        score = score_execution(LabelledView(view, labels, card, grader), path, None).score
        assert abs(score - score_execution(LabelledView(view, labels, of.card), path, None).score) < 1e-9
        found[name].add(of, told.low, told.high, score, hidden)


def truth_of(of: Labelled, answers: object, many: int) -> np.ndarray:  # type: ignore[type-arg]
    frame = answers
    columns = list(of.card.prediction_columns)
    if all(name in frame for name in columns):  # type: ignore[operator]
        return frame[columns].astype(float).to_numpy()  # type: ignore[index,no-any-return]
    label = next(name for name in frame if name not in of.tested)  # type: ignore[attr-defined]
    return np.array([[float(name == cell) for name in columns] for cell in frame[label]])  # type: ignore[index]


def main() -> None:
    if not os.environ.get("BOT_SNAPSHOTS"):
        print("BOT_SNAPSHOTS is not set: it names a folder of snapshots")
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--own-grader", action="store_true")
    parser.add_argument("slug", nargs="*")
    arguments = parser.parse_args()
    for slug in arguments.slug or all_slugs():
        began = time.monotonic()
        for name, tally in tallies(slug, own=arguments.own_grader).items():
            hits = sum(tally.inside)
            verdict = "" if hits >= WANTED * len(tally.inside) else "  TOO FEW"
            print(
                f"{slug:42} {name:10} {hits:2} of {len(tally.inside)} inside ({tally.better} better, {tally.worse} worse); "
                f"half width {statistics.median(tally.widths):.4f}, off by {statistics.median(tally.distances):.4f}{verdict}",
                flush=True,
            )
        print(
            f"{slug}: {time.monotonic() - began:.0f} s, {time.process_time():.0f} s of a processor so far", flush=True
        )


if __name__ == "__main__":
    main()
