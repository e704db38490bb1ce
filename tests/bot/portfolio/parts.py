"""Folders of portfolio jobs, with tiny made-up tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from bot.portfolio.fit_portfolio import main
from bot.portfolio.plan import FoldKind, PortfolioJob, TargetKind, portfolio_model

ROWS = 60


def write_job(
    folder: Path,
    target: Any,
    names: tuple[str, ...] = ("linear",),
    *,
    x: Any = None,
    kind: TargetKind = "number",
    metric: str = "rmse",
    fold_kind: FoldKind = "random",
    folds: Any = None,
    order: Any = None,
    groups: Any = None,
    columns: tuple[str, ...] = (),
    logarithmic: bool = False,
    cpu_seconds: float = 600,
    **said: Any,
) -> Path:
    """Write a job; the last 8 rows of the features are its validation rows (3) and test rows (5)."""
    x = features(len(target) + 8) if x is None else x
    (folder / "features").mkdir(parents=True, exist_ok=True)
    rows = len(target)
    for name, part in (("train", x[:rows]), ("validation", x[rows : rows + 3]), ("test", x[rows + 3 :])):
        path = folder / "features" / f"{name}.npz"
        sparse.save_npz(path, part) if sparse.issparse(part) else np.savez(path, x=part, names=np.array(columns, str))
    np.save(folder / "target.npy", target)
    np.save(folder / "folds.npy", np.arange(rows) % 3 if folds is None else folds)
    for name, values in (("order", order), ("groups", groups)):
        if values is not None:
            np.save(folder / f"{name}.npy", values)
    models = tuple(portfolio_model(name, metric, kind) for name in names)
    job = PortfolioJob(
        kind=kind, fold_kind=fold_kind, logarithmic=logarithmic, models=models, cpu_seconds=cpu_seconds, **said
    )
    (folder / "job.json").write_text(job.model_dump_json())
    return folder


def features(rows: int = ROWS + 8, columns: int = 3) -> Any:
    """Return features without meaning."""
    return np.random.default_rng(1).normal(size=(rows, columns)).astype(np.float32)


def fitted(folder: Path, name: str = "linear") -> dict[str, Any]:
    """Fit a job's models, and return one's arrays, and what is noted of it under `meta`."""
    main(folder)
    out = folder / "out" / name
    arrays: dict[str, Any] = {path.stem: np.load(path) for path in out.glob("*.npy")}
    return arrays | {"meta": json.loads((out / "meta.json").read_text())}
