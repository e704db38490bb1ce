"""What choosing and blending gain over the best hold-out score, on stored runs; nothing is trained.

The rows that a run withheld (hold-out and final together) are halved at random, 20 times. On one half everything is chosen and
fitted: the script with the best score there (argmax), the blend, and the last choice among all; the other half judges them.

    python -m tests.bench.bench_choice runs [--halvings 20]

The paired gain is that of the choice over argmax, in the metric's own units, above 0 where the choice is better. `t` takes the
halvings as independent, which they are not: they halve the same rows. `t*` counts that (Nadeau and Bengio 2003): it is the one to
believe of a single run. Regret is by how much the chosen one is worse than the best script on the judging half; it is below 0
where the choice is better than any script.
"""

import argparse
import math
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sqlmodel import select

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.blends import Member
from bot.evaluation.answers.choices import Candidate, Predictions
from bot.evaluation.blending.blend import blend
from bot.evaluation.choosing.parts import choose_candidate
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.evaluation.scoring import open_scorer, parts_of
from bot.evaluation.scoring.bank import read_predicted
from bot.evaluation.scoring.truth import Predicted, score_or_nan
from bot.evaluation.tables.csv_table import read_table
from bot.evaluation.views.parts import write_final
from bot.execution.folder import RunFolder, run_folders
from bot.execution.record import kept_execution, readable_files
from bot.replay.prepare import read_config
from scrapers.snapshots.snapshot import Snapshot
from state.errors import NoBlend
from state.ledgers import read_only
from state.tables import Node

HALVINGS = 20
SECONDS = 2.0
"""For one fit of a blend, and again for its noise."""
_BLEND = 10**6
"""Number of the blend among the candidates."""
WITHIN = 1.96 * math.sqrt(2)
"""Standard errors of a half's score, between which the other half's lies in 95 of 100 cases."""


@dataclass
class Tally:
    """What came of one run; scores are turned so that higher is better."""

    run: str
    scripts: int
    rows: int
    argmax: list[float] = field(default_factory=list)
    choice: list[float] = field(default_factory=list)
    blend: list[float] = field(default_factory=list)
    """The blend; where there is none, what argmax chose."""
    best_script: list[float] = field(default_factory=list)
    within: list[bool] = field(default_factory=list)
    blended: int = 0
    no_blend: str = ""

    @property
    def gains(self) -> list[float]:
        return [ours - theirs for ours, theirs in zip(self.choice, self.argmax, strict=True)]

    def t(self, *, corrected: bool = False) -> float:
        """Return the paired gain over its standard error; 0 where nothing differs."""
        spread, many = statistics.stdev(self.gains), len(self.gains)
        # The judging rows are as many as those that were chosen by.
        error = spread * math.sqrt(1 / many + (1 if corrected else 0))
        return statistics.mean(self.gains) / error if error > 0 else 0.0

    @property
    def regrets(self) -> tuple[float, float]:
        """By how much argmax, and the choice, is worse than the best script."""
        before, after = (
            statistics.mean(best - one for best, one in zip(self.best_script, chosen, strict=True))
            for chosen in (self.argmax, self.choice)
        )
        return before, after


def members_of(folder: RunFolder, run: str) -> list[Member]:
    """Return the scored scripts of a run that predicted something."""
    found = []
    with read_only(folder.database) as session:
        for node in session.exec(
            select(Node).where(Node.run_id == run, Node.status == "valid").order_by(Node.id)
        ).all():  # type: ignore[arg-type]
            done = kept_execution(session, run, node.id)
            if node.action == "ensemble" or done is None or done.score is None or done.score.spoiled:
                continue
            if done.score.predictions is not None:
                found.append(Member(node.id, *readable_files(folder, done.id, done.score), done.seconds))
    return found


def tally(folder: RunFolder, halvings: int, place: Path) -> Tally | None:
    """Halve a run's withheld rows, choose by one half and judge by the other; None: it has too few scripts."""
    run, settings = read_config(folder)
    members, card = members_of(folder, run), Snapshot.load(settings.snapshot, METRIC_DIRECTIONS).card
    if len(members) < 2:
        return None
    own = folder.evaluator / "holdout"
    grader = folder.grader if folder.grader.is_file() else None
    rows = sum(1 for _ in read_table(own / "labels.csv").rows())
    sample = folder.views / "holdout" / "sample_validation.csv"
    read = {one.node: read_predicted(one.predictions, sample, card) for one in members}
    found = Tally(folder.path.name.rpartition("-")[0], len(members), rows)
    for number in range(halvings):
        labels = place / f"labels-{number}"
        shutil.copytree(own, labels)
        judging = np.random.default_rng([number, rows]).permutation(rows)[: rows // 2]
        write_final(labels, sorted(map(int, judging)))
        view = LabelledView(folder.views / "holdout", labels, card, grader)
        with closing(open_scorer(card, grader)) as scorer:
            chooses, judges = parts_of(view, scorer)
            assert judges is not None
            both = {
                node: tuple(card.oriented(score_or_nan(part, Predicted("", values))) for part in (chooses, judges))
                for node, values in read.items()
            }
        _judge(found, view, members, both, place / "bank", number)
        shutil.rmtree(labels)
    return found


def _judge(
    found: Tally,
    view: LabelledView,
    members: Sequence[Member],
    both: dict[int, tuple[float, ...]],
    bank: Path,
    seed: int,
) -> None:
    """Add one halving: choose by the first score of each, judge by the second."""
    card = view.card
    argmax = max(both, key=lambda node: (both[node][0], -node))
    found.argmax.append(both[argmax][1])
    found.best_script.append(max(judged for _, judged in both.values()))
    files = {one.node: one.predictions for one in members}
    candidates = [Candidate(one.node, one.seconds) for one in members]
    try:
        blended = blend(view, members, bank, seed, SECONDS)
    except NoBlend as error:
        found.no_blend = str(error)
        found.blend.append(found.argmax[-1])
    else:
        assert blended.final is not None
        fitted, judged = card.oriented(blended.score), card.oriented(blended.final)
        found.blend.append(judged)
        seconds = sum(one.seconds for one in members if one.node in blended.recipe.weights)
        files[_BLEND], both = bank / blended.predictions, {**both, _BLEND: (fitted, judged)}
        candidates.append(Candidate(_BLEND, seconds, blended.recipe))
        if blended.noise.score_error is not None:
            found.within.append(abs(judged - fitted) <= WITHIN * blended.noise.score_error)
    choice = choose_candidate(candidates, [Predictions(view, ("holdout",), files)], seed, SECONDS)
    found.blended += choice.order[0] == _BLEND
    found.choice.append(both[choice.order[0]][1])


def line(one: Tally) -> str:
    """Return one run as a line of a table."""
    before, after = one.regrets
    within = f"{'yes' if one.within[0] else 'no'} ({sum(one.within)}/{len(one.within)})" if one.within else one.no_blend
    blend, choice = (statistics.mean(part) - statistics.mean(one.argmax) for part in (one.blend, one.choice))
    cells = (
        *(one.run, one.scripts, one.rows, f"{one.blended}/{len(one.gains)}", f"{statistics.mean(one.argmax):.5f}"),
        *(f"{blend:+.5f}", f"{choice:+.5f}", f"{one.t():+.1f}", f"{one.t(corrected=True):+.1f}"),
        *(f"{before:.5f}", f"{after:.5f}", within),
    )
    return f"| {' | '.join(map(str, cells))} |"


HEAD = (
    "| run | scripts | rows | blend chosen | argmax | gain of blend | of choice | t | t* | regret | after | within |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--halvings", type=int, default=HALVINGS)
    arguments = parser.parse_args()
    if not arguments.runs:
        print("name folders of stored runs: python -m tests.bench.bench_choice runs")
        return
    print(HEAD, flush=True)
    found, began = [], time.monotonic()
    for folder in run_folders(arguments.runs):
        with tempfile.TemporaryDirectory() as place:
            if (one := tally(folder, arguments.halvings, Path(place))) is not None:
                found.append(one)
                print(line(one), flush=True)
    if not found:
        return
    ts, halved = [one.t() for one in found], [one.regrets for one in found]
    # In shares of each run's score, so that runs of different metrics can be added.
    before, after = (sum(one.regrets[at] / abs(statistics.mean(one.argmax)) for one in found) for at in (0, 1))
    print(
        f"\n{len(found)} runs: t above 2 on {sum(t > 2 for t in ts)}, below -2 on {sum(t < -2 for t in ts)}; "
        f"t* above 2 on {sum(one.t(corrected=True) > 2 for one in found)}, below -2 on "
        f"{sum(one.t(corrected=True) < -2 for one in found)}; regret in shares of the score, summed, {before:.3f} before and "
        f"{after:.3f} after, halved on {sum(b > 0 and a <= b / 2 for b, a in halved)} of {sum(b > 0 for b, _ in halved)}; "
        f"within the interval {sum(one.within[0] for one in found if one.within)} of {sum(bool(one.within) for one in found)}; "
        f"{time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    main()
