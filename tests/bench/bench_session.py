"""What live sessions bring and cost, with a scripted model: `python -m tests.bench.bench_session [SNAPSHOT...]`.

Each snapshot of the folder that BOT_SNAPSHOTS names is run with scripts alone and with --session. The model is a script
too: alone it takes kinds of models in a fixed order of habit; with a session it first compares them on a part of the
data, and takes the best. It says nothing of what a language model would do with either.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bot.coder import TaskText
from bot.models.builtin.config import plain_config, script
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint

ROW = "{:45} {:8} {:>11} {:>9} {:>5} {:>7} {:>8} {:>9}  {}"
HABIT = ("boosting", "random forest", "linear model")
LOOK = """
import io, pathlib, time, zipfile
import numpy as np, pandas as pd
from pandas.api.types import is_numeric_dtype as is_number
train, sample = pd.read_csv("data/train.csv"), pd.read_csv("data/sample_submission.csv")
wanted = list(sample.columns[1:])
label = wanted[0] if wanted[0] in train else next(
    c for c in train.columns[1:] if not is_number(train[c]) and train[c].nunique() <= len(wanted))
print(train.shape, label, train[label].nunique())
"""
COMPARE = """
from PIL import Image
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
rows = train.sample(min(len(train), 600), random_state=0)
y = rows[label]
test = pathlib.Path("data/test.csv")
shared = list(pd.read_csv(test, nrows=1).columns)[1:] if test.exists() else []
words = [c for c in shared if not is_number(rows[c]) and rows[c].str.count(" ").mean() > 3]
if words:
    x = TfidfVectorizer(max_features=300).fit_transform(rows[words[0]]).toarray()
elif shared:
    x = rows[[c for c in shared if is_number(rows[c])]].fillna(0).to_numpy()
else:
    archive = zipfile.ZipFile("data/train.zip")
    names = {pathlib.Path(n).name: n for n in archive.namelist()}
    images = [Image.open(io.BytesIO(archive.read(names[n]))) for n in rows.iloc[:, 0]]
    x = np.array([np.asarray(image.convert("L").resize((12, 12))).ravel() for image in images])
classes = not is_number(y) or y.nunique() == 2
kinds = {
    "boosting": HistGradientBoostingClassifier(max_iter=30) if classes else HistGradientBoostingRegressor(max_iter=30),
    "random forest": RandomForestClassifier() if classes else RandomForestRegressor(),
    "linear model": LogisticRegression(max_iter=300) if classes else Ridge(),
}
scoring = "neg_log_loss" if classes else "neg_root_mean_squared_error"
if classes and y.nunique() > 20:  # a few rows a class
    del kinds["boosting"]
    scoring = "accuracy"
for name, kind in kinds.items():
    began = time.time()
    scores = cross_val_score(
        make_pipeline(StandardScaler(), kind), x, y if classes else np.log1p(y),
        cv=3, scoring=scoring)
    print(f"{name}: {scores.mean():.4f} in {time.time() - began:.1f} s", flush=True)
"""


def answer(request: Request) -> Reply | str:
    """Answer as the script says, from what the prompt says."""
    system, user = (str(m["content"]) for m in request.body["messages"][:2])
    if "You review runs" in system:
        return json.dumps({"summary": "it ran"})
    if "live Python session" in system:
        if "## Cell 2" in user:
            return f"DONE\nBest first: {', '.join(measured(user))}."
        return f"```python{COMPARE if '## Cell 1' in user else LOOK}```"
    found = re.search(r"Best first: ([a-z, ]+)\.", user)
    order = found[1].split(", ") if found else list(HABIT)
    plain = plain_config(task_in(user))
    tried = len(re.findall(r"^- node ", user, re.MULTILINE)) + len(re.findall(r"^## Node ", user, re.MULTILINE))
    config = plain.using((order[max(0, tried - 1) % len(order)],)).model_copy(update={"seed": tried})
    return f"One {config.use}.\n\n```python\n{script(config)}```\n"


def measured(user: str) -> list[str]:
    """Return the kinds of models by what the last cell printed, best first; what was not measured comes last."""
    scores = {name: float(score) for name, score in re.findall(r"^([a-z ]+): (-?\d+\.\d+) in", user, re.MULTILINE)}
    return sorted(HABIT, key=lambda name: -scores.get(name, -1e9))


def task_in(user: str) -> TaskText:
    """Return what the recipe needs to know of the task."""
    metric = re.search(r"^Metric: (\w+) \((\w+)\)\. Id column: (.+?)\. Prediction columns", user, re.MULTILINE)
    assert metric is not None
    return TaskText("", "", metric[1], metric[2], metric[3], (), "")


def run(snapshot: Path, url: str, out: Path, options: Sequence[str]) -> dict[str, Any]:
    """Run one replay and return its result, with the cells that were run."""
    command = [sys.executable, "-c", "from bot.cli import main; main()", "replay", str(snapshot), "--agent", "aide"]
    command += ["--model", "openai:scripted", "--no-community", "--json", "--out", str(out), *options]
    environment = {**os.environ, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "unused"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if not done.stdout.strip():
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout)
    events = (Path(result["run"]) / "events.jsonl").read_text(encoding="utf-8").splitlines()
    cells = [event for event in map(json.loads, events) if event["type"] == "cell.run"]
    return {**result, "cells": [cell["status"] for cell in cells]}


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("snapshots", nargs="*", type=Path)
    parser.add_argument("--steps", default="3")
    parser.add_argument("--time", default="3m")
    parser.add_argument("--sandbox", default="auto")
    chosen = parser.parse_args()
    folder = os.environ.get("BOT_SNAPSHOTS")
    snapshots = chosen.snapshots or (sorted(p.parent for p in Path(folder).glob("*/snapshot.json")) if folder else [])
    if not snapshots:
        print("BOT_SNAPSHOTS is not set: it names a folder of snapshots")
        return
    options = ["--steps", chosen.steps, "--time", chosen.time, "--sandbox", chosen.sandbox]
    print(
        ROW.format("competition", "session", "validation", "score", "nodes", "wall s", "waited s", "session s", "cells")
    )
    with ScriptedEndpoint(answer) as endpoint, tempfile.TemporaryDirectory() as place:
        for snapshot in snapshots:
            for session in ([], ["--session"]):
                found = run(snapshot, endpoint.url, Path(place), [*options, *session])
                scores = [found.get("validation_score"), found.get("score")]
                shown = [f"{score:.5f}" if isinstance(score, float) else "none" for score in scores]
                counted = {status: found["cells"].count(status) for status in sorted(set(found["cells"]))}
                seconds = [f"{found[name]:.1f}" for name in ("wall_seconds", "waiting_seconds", "session_seconds")]
                cells = ", ".join(f"{count} {status}" for status, count in counted.items())
                told = "yes" if session else "no"
                print(ROW.format(snapshot.name, told, *shown, found["nodes"], *seconds, cells), flush=True)


if __name__ == "__main__":
    main()
