"""The script that tests an environment; it runs inside the sandbox, with the environment's packages alone."""

import importlib
import json
import re
import time
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any


def normal(name: str) -> str:
    """Return a package's name as it is compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def table() -> tuple[Any, Any]:
    """Return features and a target that depends on one of them."""
    numpy = importlib.import_module("numpy")
    features = numpy.random.default_rng(0).normal(size=(200, 4))
    return features, (features[:, 0] > 0).astype(int)


def fit(library: str, name: str, **options: Any) -> None:
    """Fit a library's classifier of that name, which must then do better than chance."""
    model = getattr(importlib.import_module(library), name)(**options)
    features, target = table()
    model.fit(features, target)
    accuracy = float((model.predict(features).ravel() == target).mean())
    if accuracy < 0.9:
        raise AssertionError(f"its accuracy on the training data is only {accuracy:.0%}")


def fit_torch() -> None:
    """Take twenty steps with a small network, on a GPU if one is leased; its loss must fall."""
    torch = importlib.import_module("torch")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    features, target = (torch.as_tensor(array, device=device) for array in table())
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(20):
        loss = torch.nn.functional.cross_entropy(model(features.float()), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    if not losses[-1] < losses[0]:
        raise AssertionError(f"the loss did not fall: it went from {losses[0]} to {losses[-1]}")


FITS: dict[str, Callable[[], None]] = {
    "lightgbm": partial(fit, "lightgbm", "LGBMClassifier", n_estimators=10, verbose=-1),
    "xgboost": partial(fit, "xgboost", "XGBClassifier", n_estimators=10),
    "xgboost-cpu": partial(fit, "xgboost", "XGBClassifier", n_estimators=10),
    "catboost": partial(fit, "catboost", "CatBoostClassifier", iterations=10, verbose=False, allow_writing_files=False),
    "torch": fit_torch,
}


def main() -> None:
    """Run all requested trials, and write a line of JSON about each."""
    package_names = json.loads(Path("data/wanted.json").read_text(encoding="utf-8"))
    modules: dict[str, list[str]] = {}
    for module, names in metadata.packages_distributions().items():
        for name in names:
            modules.setdefault(normal(name), []).append(module)
    trials: list[tuple[str, Callable[[], Any]]] = []
    for name in package_names:
        candidates = [module for module in modules.get(normal(name), ()) if module.isidentifier() and module[0] != "_"]
        # A package without a module is imported by its own name, and the error then names what is missing.
        trials += [(f"import {module}", partial(importlib.import_module, module)) for module in candidates or [name]]
    trials += [(f"fit with {name}", FITS[name]) for name in package_names if name in FITS]
    with Path("trials.jsonl").open("w", encoding="utf-8") as results:
        for label, trial in trials:
            start, error = time.monotonic(), None
            try:
                trial()
            except Exception as raised:  # reporting whatever a foreign package raises is the purpose
                error = f"{type(raised).__name__}: {raised}"
            results.write(json.dumps({"trial": label, "seconds": time.monotonic() - start, "error": error}) + "\n")
            results.flush()


if __name__ == "__main__":
    main()
