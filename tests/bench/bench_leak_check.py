"""What the check against leaks says of honest experiments and of planted leaks, on re-splits of the snapshots.

Honest: three plain models, blends of two, stacks, and blends that were weighted on the rows they are scored on. Leaks: a target
encoding of groups that was fitted on all rows, rows of which copies were trained on, and predictions drawn towards the labels.
A leak counts where it inflates the score by more than five standard errors of what any hold-out can show, which is the paired
difference of the two gains. Each experiment is compared with each honest model that it is not made of.
Arguments: names of snapshots; `BENCH_RESPLITS`: re-splits of each.
"""

import itertools
import math
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.experiments import Arrays, Reference, Role
from bot.evaluation.experiments.score import score_experiment
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.build import build_folds, build_view
from scrapers.snapshots.card import TaskCard
from tests.bench.plain_models import MODELS, Features, labels_of, predict
from tests.bench.resplits import Labelled, labelled, resplit
from tests.bot.evaluation.parts import SLUGS

RESPLITS = int(os.environ.get("BENCH_RESPLITS", "2"))
FOLDS = 5
_BLAMED = "gains less than its folds promise"
_SEEDS = 5
"""Seeds of what blurs the check, for each pair."""

Values = NDArray[Any]
Pair = tuple[Values, Values]
"""Predictions of training rows out of fold, and of validation rows."""


@dataclass
class Tried:
    """A re-split with its views."""

    of: Labelled
    folder: Path
    forward: bool

    def __post_init__(self) -> None:
        card, data = self.of.card, self.folder / "data"
        self.view = LabelledView(self.folder / "view", self.folder / "view-labels", card)
        self.folds = LabelledView(self.folder / "folds", self.folder / "fold-labels", card)
        build_view(data, card, "holdout", 0, self.view.data, self.view.labels, "lab")
        build_folds(data, card, 0, FOLDS, self.folds.data, self.folds.labels, "lab")
        table = read_table(self.folds.data / "folds.csv")
        self.ids, self.fold = table.column(card.id_column), np.array(table.column("fold"), dtype=int)
        self.asked = read_table(self.view.data / "sample_validation.csv").column(card.id_column)
        features = Features(self.of)
        self.seen, self.unseen = features.of(self.ids), features.of(self.asked)
        self.labels = truths(card, self.ids, data)
        self.models: dict[str, Pair] = {name: self.model(name) for name in MODELS}

    def model(self, name: str, seen: Any = None, unseen: Any = None, copied: float = 0.0) -> Pair:
        """Fit a model on each fold's rows and on all; a share of each fold's rows may be among those it is trained on."""
        seen, unseen = (self.seen, self.unseen) if seen is None else (seen, unseen)
        oof = np.zeros((len(self.ids), len(self.of.card.prediction_columns)))
        rng = np.random.default_rng(1)
        for number in range(FOLDS):
            out = np.flatnonzero(self.fold == number)
            inside = np.flatnonzero(self.fold < number if self.forward else self.fold != number)
            inside = np.concatenate([inside, rng.permutation(out)[: int(copied * len(out))]])
            oof[out] = predict(name, self.of, seen[inside], self.labels[inside], seen[out])
        return oof, predict(name, self.of, seen, self.labels, unseen)

    def honest(self) -> Iterator[tuple[str, Pair, set[str]]]:
        """Yield experiments that know nothing they should not, each with the models it is made of."""
        for name, pair in self.models.items():
            yield name, pair, {name}
        for first, second in itertools.combinations(MODELS, 2):
            a, b = self.models[first], self.models[second]
            yield f"{first}+{second}", ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2), {first, second}
            scored = self.fold >= 0
            weights = np.linspace(0, 1, 11)
            best = min(weights, key=lambda w: float(((w * a[0] + (1 - w) * b[0] - self.labels)[scored] ** 2).mean()))
            yield (
                f"stack of {first} and {second}",
                (best * a[0] + (1 - best) * b[0], best * a[1] + (1 - best) * b[1]),
                set(),
            )

    def leaks(self) -> Iterator[tuple[str, Pair, str]]:
        """Yield experiments that know labels, each with the honest model that it is made of."""
        rng = np.random.default_rng(2)
        for name in ("linear", "trees"):
            oof, validation = self.models[name]
            spread = np.abs(oof - self.labels).mean()
            for strength in (0.05, 0.1, 0.2, 0.4):
                noise = rng.normal(0, spread * strength / 2, oof.shape)
                low, high = (0, 1) if self.of.card.metric.name in ("log_loss", "roc_auc") else (0, np.inf)
                yield (
                    f"blurred {strength}",
                    (np.clip((1 - strength) * oof + strength * self.labels + noise, low, high), validation),
                    name,
                )
        for name, copied in itertools.product(("trees", "neighbours"), (0.2, 0.6)):
            yield f"copies {copied}", self.model(name, copied=copied), name
        if isinstance(self.seen, np.ndarray):
            for size in (3, 10):
                group = rng.integers(0, len(self.ids) // size + 1, len(self.ids))
                of_asked = rng.integers(0, len(self.ids) // size + 1, len(self.asked))
                known = np.log1p(self.labels) if self.labels.max() > 1 else self.labels
                sums = np.stack([np.bincount(group, column, minlength=group.max() + 2) for column in known.T], axis=1)
                counts = np.bincount(group, minlength=group.max() + 2)[:, None]
                means = (sums + known.mean(axis=0)) / (counts + 1)
                more = [np.hstack([rows, means[g]]) for rows, g in ((self.seen, group), (self.unseen, of_asked))]
                for name in ("linear", "trees"):
                    yield f"target encoding {size}", self.model(name, *more), name


def truths(card: TaskCard, ids: list[str], data: Path) -> Values:
    """Return the labels of training rows."""
    names, known = labels_of(data, card)
    place = {name: at for at, name in enumerate(names)}
    return known[[place[id] for id in ids]]


def main() -> None:
    if "BOT_SNAPSHOTS" not in os.environ:
        print("BOT_SNAPSHOTS names no folder of snapshots: nothing is measured")
        return
    answers: Counter[tuple[str, bool, str]] = Counter()
    for slug in sys.argv[1:] or SLUGS:
        of = labelled(slug)
        for seed, forward in itertools.product(range(RESPLITS), (False, True) if "datetime" in of.train else (False,)):
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                if forward:
                    of.train[: int(0.8 * len(of.train))].to_csv(_parent(folder / "data" / "train.csv"), index=False)
                    tail = of.train[int(0.8 * len(of.train)) :]
                    tail[list(of.tested)].to_csv(folder / "data" / "test.csv", index=False)
                    sample = tail[[of.card.id_column]].assign(**dict.fromkeys(of.card.prediction_columns, 0))
                    sample.to_csv(folder / "data" / "sample_submission.csv", index=False)
                else:
                    resplit(of, folder, seed)
                _try(Tried(of, folder, forward), answers, f"{slug}{' forward' if forward else ''} {seed}")
    for (what, counted, answer), many in sorted(answers.items()):
        print(f"{what:40} {'counts' if counted else '      '} {answer:36} {many}")


def _parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _try(tried: Tried, answers: "Counter[tuple[str, bool, str]]", where: str) -> None:
    files = itertools.count()
    bank = tried.folder / "bank"

    def score(pair: Pair, **more: Any) -> Any:
        sent: dict[Role, Path] = {}
        for role, values in (("oof", pair[0]), ("validation", pair[1])):
            sent[role] = tried.folder / f"{next(files)}.npy"  # type: ignore[index]
            np.save(sent[role], values)  # type: ignore[index]
        given = {"against": None, "reference": None, "check": False, "seed": 0, **more}
        return score_experiment(tried.folds, tried.view, sent, bank, ensemble=None, **given)

    arrays: dict[str, Arrays] = {name: score(pair).arrays for name, pair in tried.models.items()}
    blamed = checked = 0
    for _, pair, parts in tried.honest():
        for other in set(MODELS) - parts:
            for seed in range(_SEEDS):
                answer = score(pair, reference=Reference(other, arrays[other]), check=True, seed=seed).check
                answers["honest", True, answer] += 1
                blamed, checked = blamed + (answer == _BLAMED), checked + (answer != "not checked")
    found = leaking = 0
    for name, pair, base in tried.leaks():
        inflated = score(pair, against=Reference(base, arrays[base])).gain
        held = _held_error(tried)
        other = "linear" if base != "linear" else "trees"
        for seed in range(_SEEDS):
            scored = score(
                pair,
                reference=Reference(other, arrays[other]),
                against=Reference(other, arrays[other]),
                check=True,
                seed=seed,
            )
            error = math.hypot(scored.gain.std_error or 0.0, (scored.gain.std_error or 0.0) * held)
            counts = inflated.value > 5 * error
            answers[f"leak: {name}", counts, scored.check] += 1
            if counts:
                leaking, found = leaking + 1, found + (scored.check == _BLAMED)
    print(f"{where}: honest blamed {blamed} of {checked}; leaks found {found} of {leaking}", flush=True)


def _held_error(tried: Tried) -> float:
    """Return how much larger an error is on the hold-out, which has fewer rows."""
    held = len(tried.asked) / 2
    return math.sqrt(float((tried.fold >= 0).sum()) / held)


if __name__ == "__main__":
    main()
