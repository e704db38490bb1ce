"""Every family of the portfolio, on every kind of target, and every model; boosting where its library is installed."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bot.portfolio.plan import CONFIGURATIONS, SCRIPT, TargetKind
from tests.bot.portfolio.parts import features, fitted, write_job

pytestmark = pytest.mark.integration
ROWS = 240
CPU_SECONDS = 4
"""Of one model: boosting learns no more in further rounds."""

_FAMILIES = {CONFIGURATIONS[name][0]: name for name in reversed(CONFIGURATIONS)}.values()
"""The first model of each."""


def _targets(x: Any) -> dict[TargetKind, Any]:
    return {
        "number": x[:ROWS, 0] * 3,
        "ordered": np.digitize(x[:ROWS, 0], [-0.5, 0.5]),
        "binary": (x[:ROWS, 0] > 0).astype(int),
        "multiclass": np.digitize(x[:ROWS, 0], [-0.5, 0.5]),
        "multilabel": (x[:ROWS, :2] > 0).astype(int),
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in _targets(features(ROWS)) for name in (CONFIGURATIONS if kind == "number" else _FAMILIES)],
)
def test_every_model_learns_and_every_family_every_kind_of_target(tmp_path: Path, name: str, kind: TargetKind) -> None:
    x = features(ROWS + 8, 4)
    x[:, 2] = np.arange(len(x)) % 5
    target = _targets(x)[kind]
    said: dict[str, Any] = {"cpu_seconds": CPU_SECONDS} | ({"classes": 3} if kind == "multiclass" else {})
    found = fitted(write_job(tmp_path, target, (name,), x=x, kind=kind, categories=(2,), encode=(3,), **said), name)
    assert "failed" not in found["meta"]
    if "skipped" in found["meta"]:
        pytest.skip(found["meta"]["skipped"])
    oof = found["oof"] @ np.arange(3) if kind == "multiclass" else found["oof"].reshape(ROWS, -1)[:, 0]
    assert np.corrcoef(oof, target.reshape(ROWS, -1)[:, 0])[0, 1] > 0.6


@pytest.mark.parametrize("name", _FAMILIES)
@pytest.mark.parametrize("metric", ["rmse", "mae"])
def test_every_family_learns_from_sparse_features(tmp_path: Path, name: str, metric: str) -> None:
    x = sparse.random(ROWS + 8, 200, 0.2, format="csr", random_state=1, dtype=np.float32)
    target = 10 * np.asarray(x[:ROWS, :2].sum(axis=1)).ravel()
    found = fitted(write_job(tmp_path, target, (name,), x=x, metric=metric), name)
    assert "failed" not in found["meta"]
    assert "skipped" in found["meta"] or np.isfinite(found["oof"]).all()


def test_the_script_runs_by_itself(tmp_path: Path) -> None:
    folder = write_job(tmp_path, features(ROWS)[:, 0], x=features(ROWS + 8))
    # Nothing of this project can be imported there.
    subprocess.run([sys.executable, "-P", SCRIPT], cwd=folder, check=True, env=os.environ | {"PYTHONPATH": ""})
    assert (folder / "out" / "linear" / "meta.json").exists()


def test_a_model_ends_in_its_time(tmp_path: Path) -> None:
    x = features(3000, 20)
    folder = write_job(tmp_path, x[:-8, 0] * x[:-8, 1], ("extra-trees", "network-1"), x=x, cpu_seconds=4)
    assert fitted(folder, "extra-trees")["meta"]["cpu_seconds"] < 4
