"""How long a blend of many scripts takes, and how much memory: from the bank's own files, each case in a process with one thread.

python -m tests.bench.bench_blend [--nodes 200] [--rows 100000]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bot.evaluation.blending.blend import blend
from tests.bot.evaluation.blending.parts import lay_out, member, task

CASES = (("log_loss", 1), ("log_loss", 10), ("rmse", 1), ("roc_auc", 1), ("roc_auc", 10), ("spearman", 1))
"""Metric and columns."""
MOST_SECONDS, MOST_MEGABYTES = 15.0, 500.0


def case(metric: str, columns: int, nodes: int, rows: int) -> None:
    """Fit one blend, and print what it took."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1.5, (rows, columns)).astype(np.float32)
    if metric in ("rmse", "spearman"):
        truth = logits.astype(float)
    elif metric == "log_loss" and columns > 1:
        truth = np.eye(columns)[(logits + rng.gumbel(size=logits.shape)).argmax(axis=1)]
    else:
        truth = (rng.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        view = lay_out(folder, task(metric, columns), truth)
        members = []
        for node in range(1, nodes + 1):
            noisy = logits + rng.normal(0, rng.uniform(0.5, 2.0), logits.shape).astype(np.float32)
            values = noisy if metric in ("rmse", "spearman") else 1 / (1 + np.exp(-noisy))
            members.append(member(folder, node, values.astype(float)))
        del logits, truth, noisy, values
        before = time.perf_counter(), time.process_time()
        found = blend(view, members, folder / "bank", 0, 0.0)
        wall, cpu = time.perf_counter() - before[0], time.process_time() - before[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{metric}, {columns} columns: {cpu:.1f} s of a processor ({cpu / MOST_SECONDS:.2f} of what is allowed), {wall:.1f} s in "
        f"all, {peak:.0f} MB ({peak / MOST_MEGABYTES:.2f}); {len(found.recipe.weights)} members, {found.recipe.space}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--case", type=int, help="only this one, in this process")
    given = parser.parse_args()
    if given.case is not None:
        case(*CASES[given.case], given.nodes, given.rows)
        return
    one_thread = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    for number in range(len(CASES)):
        command = [sys.executable, "-m", "tests.bench.bench_blend", "--case", str(number)]
        subprocess.run([*command, "--nodes", str(given.nodes), "--rows", str(given.rows)], env=one_thread, check=True)


if __name__ == "__main__":
    main()
