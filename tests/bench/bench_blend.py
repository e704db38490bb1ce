"""How long a blend of many scripts takes, and how much memory: from the bank's own files, each case in a process with one thread.

python -m tests.bench.bench_blend [--nodes 200] [--rows 100000] [--case METRIC/COLUMNS ...]

With 200 scripts and 100,000 rows, on two cores that others used too (load 2 to 9): seconds of a processor, and MB.

    log_loss/1                    2.6  225      roc_auc/10                   10.6  331
    log_loss/10                   3.3  379      average_precision/1           3.4  211
    mean_columnwise_log_loss/10   6.6  368      average_precision/10         14.5  327
    weighted_log_loss/10         12.7  369      lwlrap/10                    10.7  328
    kl_divergence/10             13.2  387      probabilistic_f1/10           6.0  275
    rmse/1                        1.5  218      spearman/1                    3.4  211
    rmse/10                       4.1  327      spearman/10                  11.9  256
    mean_columnwise_rmse/10       4.2  326      accuracy/1                    4.3  178
    rmsle/1                       1.6  220      accuracy/10                  13.1  424
    mean_columnwise_rmsle/10      4.0  319      balanced_accuracy/10         12.3  423
    mae/1                         3.0  219      quadratic_weighted_kappa/10  13.6  423
    mae/10                        6.6  304      macro_f1/1                    3.0  176
    median_absolute_error/10      3.6  295      macro_f1/10                  10.4  422
    roc_auc/1                     2.7  211      binary_f1/1                  10.1  212
    map_at_k/1                   10.1  180      mcc/1                         2.8  177
    multilabel_micro_f1/1        10.8  227      mcc/10                       12.0  422
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.evaluation.blending.blend import blend
from bot.evaluation.metrics.registry import METRICS
from state.errors import NoBlend
from tests.bot.evaluation.blending.parts import lay_out, member, task

Values = NDArray[Any]

CASES = (
    *("log_loss/1", "log_loss/10", "mean_columnwise_log_loss/10", "rmse/1", "rmse/10", "rmsle/1", "mae/1", "mae/10"),
    *("mean_columnwise_rmse/10", "mean_columnwise_rmsle/10", "weighted_log_loss/10", "kl_divergence/10"),
    *(
        "median_absolute_error/10",
        "roc_auc/1",
        "roc_auc/10",
        "average_precision/1",
        "average_precision/10",
        "lwlrap/10",
    ),
    *("probabilistic_f1/10", "spearman/1", "spearman/10", "accuracy/1", "accuracy/10", "quadratic_weighted_kappa/10"),
    *("balanced_accuracy/10", "macro_f1/10", "macro_f1/1"),
    *("binary_f1/1", "mcc/1", "mcc/10", "map_at_k/1", "multilabel_micro_f1/1"),
)
"""Metric and columns."""
LONGEST = 300
"""Seconds after which a case is given up."""
MOST_SECONDS, MOST_MEGABYTES = 15.0, 500.0
CLASSES = 5


def made(metric: str, columns: int, nodes: int, rows: int) -> Iterator[Values]:
    """Yield a truth, and then what each script predicts; they err by themselves."""
    rng, facts = np.random.default_rng(0), METRICS[metric]
    if facts.takes != "number":
        right = rng.integers(0, CLASSES, (rows, columns))
        lists = np.array([" ".join(map(str, rng.permutation(CLASSES)[:3])) for _ in range(8 * CLASSES)], dtype=object)
        yield right.astype(str).astype(object)
        for _ in range(nodes):
            values = np.where(
                rng.random(right.shape) < rng.uniform(0.3, 0.6), rng.integers(0, CLASSES, right.shape), right
            )
            named = values.astype(str).astype(object)
            yield named if facts.takes == "label" else named + " " + rng.choice(lists, right.shape)
        return
    logits = rng.normal(0, 1.5, (rows, columns)).astype(np.float32)
    chances = facts.of_classes or metric == "kl_divergence"
    if metric in ("log_loss", "kl_divergence") and columns > 1:
        yield np.eye(columns)[(logits + rng.gumbel(size=logits.shape)).argmax(axis=1)]
    else:
        yield (
            (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
            if chances
            else np.exp(logits).astype(float)
        )
    for _ in range(nodes):
        noisy = logits + rng.normal(0, rng.uniform(0.5, 2.0), logits.shape).astype(np.float32)
        yield (1 / (1 + np.exp(-noisy)) if chances else np.exp(noisy)).astype(float)


def case(metric: str, columns: int, nodes: int, rows: int) -> None:
    """Fit one blend, and print what it took."""
    values = made(metric, columns, nodes, rows)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        view = lay_out(folder, task(metric, columns), next(values))
        members = [member(folder, node, one) for node, one in enumerate(values, 1)]
        del values
        # From here on the peak is that of the blend alone.
        Path("/proc/self/clear_refs").write_text("5")
        before = time.perf_counter(), time.process_time()
        try:
            weights = blend(view, members, folder / "bank", 0, 0.0).recipe
            found = f"{len(weights.weights)} members, {weights.space}"
        except NoBlend as error:
            found = str(error)
        wall, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    over = "" if cpu <= MOST_SECONDS and peak <= MOST_MEGABYTES else " OVER"
    print(
        f"{metric}/{columns}: {cpu:.1f} s of a processor, {wall:.1f} s in all, {peak:.0f} MB; {found}{over}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--case", nargs="+", default=CASES, help="these alone")
    given = parser.parse_args()
    if len(given.case) == 1:
        metric, _, columns = given.case[0].partition("/")
        case(metric, int(columns), given.nodes, given.rows)
        return
    one_thread = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    size = ["--nodes", str(given.nodes), "--rows", str(given.rows)]
    for name in given.case:
        command = [sys.executable, "-m", "tests.bench.bench_blend", *size, "--case", name]
        try:
            subprocess.run(command, env=one_thread, check=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            print(f"{name}: not within {LONGEST} s OVER", flush=True)


if __name__ == "__main__":
    main()
