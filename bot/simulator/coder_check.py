"""Tries out a coding agent of the owner's: a short run on the bundled competition, in which its model follows a script."""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import col, select

from bot.engine.tree import BASELINE
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import RunFolder
from bot.execution.open_leases import open_leases
from bot.models.pricing import Price
from bot.models.sections import ModelsSection
from bot.models.settings import Environment, ModelSettings
from bot.replay.prepare import prepare
from bot.replay.run_queue import Failed, run_each
from bot.replay.setup import Setup
from bot.simulator.scripted_model import ScriptedModel, serving
from sandbox import BackEndChoice
from scrapers.snapshots.demo import write_demo
from scrapers.snapshots.snapshot import Snapshot
from state.clock import SystemClock
from state.labs import labs
from state.spending import Spending, read_spending
from state.store import Store
from state.tables import Node

_SECONDS = 300.0
_PRINTED_CHARACTERS = 3_000
_MODEL = "scripted"
_PRICE = Price(input=3.0, output=15.0, cached=0.3)
_SCRIPT = """import numpy as np
import pandas as pd
from lab import log

train, folds = pd.read_csv("data/train.csv"), pd.read_csv("/lab/folds.csv")["fold"]
digits = pd.read_csv("data/sample_submission.csv").columns[1:]
pixels = [name for name in train if name.startswith("p")]

def predict(train, rows):
    centroids = train.groupby("digit")[pixels].mean().loc[digits].to_numpy()
    distances = ((rows[pixels].to_numpy()[:, None] - centroids) ** 2).sum(axis=2)
    chances = np.exp((distances.min(axis=1, keepdims=True) - distances) / WIDTH)
    return chances / chances.sum(axis=1, keepdims=True)

oof = np.full((len(train), len(digits)), np.nan)
for fold in set(folds) - {-1}:
    oof[folds == fold] = predict(train[folds != fold], train[folds == fold])
validation, test = (predict(train, pd.read_csv(f"data/{name}.csv")) for name in ("validation", "test"))
log("NAME", oof, validation, test)
"""
_WIDTHS = {"uniform": "np.inf", "centroids": "100"}
"""By the experiment's name: of the kernel around each digit's mean image; the second is better."""
_UNIFORM, _CENTROIDS = (_SCRIPT.replace("NAME", name).replace("WIDTH", width) for name, width in _WIDTHS.items())
_COMMANDS = (
    "pwd; ls; head -n 3 /lab/TASK.md; lab status",
    *(f"cat > solution.py <<'EOF'\n{script}EOF\npython3 solution.py" for script in (_UNIFORM, _CENTROIDS)),
    "printf 'method: mean images\ncomponents: none\nnext: nothing, this was a check\n' | lab done",
    # mini-swe-agent ends by this, and to no other agent it means anything.
    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
)
_EDITS = {
    'log("uniform"': f"solution.py\n```python\n<<<<<<< SEARCH\n=======\n{_UNIFORM}>>>>>>> REPLACE\n```\n",
    'log("centroids"': f"solution.py\n```python\n<<<<<<< SEARCH\n{_UNIFORM}=======\n{_CENTROIDS}>>>>>>> REPLACE\n```\n",
}


@dataclass(frozen=True)
class AgentCheckItem:
    """One thing that was to be seen of an agent."""

    title: str
    ok: bool
    finding: str


def check_coder(
    name: str, file: Path | None, back_end: BackEndChoice, folder: Path, say: Callable[[str], None]
) -> tuple[list[AgentCheckItem], str]:
    """Have an agent work in a lab in which its model follows a script; the run and its competition are put into `folder`.

    Returns:
        What was seen of it, and the end of what it printed at its last start.

    Raises:
        UsageError: there is no such agent, it is not installed, or there is no sandbox for it.
    """
    options = {"time": _SECONDS, "steps": 3, "coder": name, "sandbox": back_end}
    snapshot = Snapshot.load(write_demo(folder / "competition"), METRIC_DIRECTIONS)
    with serving(ScriptedModel(_COMMANDS, _EDITS)) as model:
        models = ModelSettings(
            Environment(openai_base_url=model.address, openai_api_key=None, openai_model=None),
            ModelsSection(prices={_MODEL: _PRICE}),
        )
        setup = Setup.read(options, f"openai:{_MODEL}", folder, file, models=models)
        settings = setup.settings(snapshot, "comind", 0, ["no-community", "no-blend"])
        [run] = prepare([(snapshot, settings)], folder, datetime.now(UTC))
        with open_leases(setup.configuration.leases, 0) as (leases, _):
            [outcome] = run_each([setup.job(run)], leases, lambda job: nullcontext(say))
    failed = [AgentCheckItem("the run", False, outcome.result.error)] if isinstance(outcome.result, Failed) else []
    logs = sorted(run.folder.labs.glob("lab*/logs/[0-9]*.txt"), key=lambda path: path.stat().st_mtime)
    last_output = logs[-1].read_text(encoding="utf-8", errors="replace")[-_PRINTED_CHARACTERS:] if logs else ""
    return [*failed, *_check_items(run.folder, run.id, model)], last_output


def _check_items(folder: RunFolder, run_id: str, model: ScriptedModel) -> Iterator[AgentCheckItem]:
    with Store.open(folder.database, SystemClock()) as store, store.read() as session:
        reason = next((lab.reason for lab in labs(store, run_id)), None)
        nodes = session.exec(
            select(Node).where(Node.run_id == run_id, Node.id != BASELINE).order_by(col(Node.id))
        ).all()
        charged = read_spending(store, run_id).get("tokens", Spending())
    scores = [node.score for node in nodes if node.score is not None]
    turns, usage = max((answer.turn for answer in model.answers), default=0), model.usage
    yield AgentCheckItem("called its model", bool(model.answers), f"{len(model.answers)} requests")
    yield AgentCheckItem("followed its instructions", turns > 0, f"{turns} answers followed")
    yield AgentCheckItem(
        "logged an experiment", bool(scores), f"scores: {', '.join(f'{score:.5g}' for score in scores)}"
    )
    better = len(scores) > 1 and scores[-1] < scores[0]
    yield AgentCheckItem("improved its score", better, f"{'the last' if better else 'no later'} score is better")
    yield AgentCheckItem("ended cleanly", reason == "its coder finished", reason or "the lab did not start")
    tokens = (charged.prompt_tokens, charged.cached_tokens, charged.completion_tokens, charged.cost_usd)
    counts_of_model = (usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, _PRICE.cost(usage))
    equal = all(map(math.isclose, tokens, counts_of_model))
    form = "{} tokens sent ({} cached), {} received, {:.4f} USD"
    counts = "" if equal else f"; the model counted {form.format(*counts_of_model)}"
    yield AgentCheckItem("was charged correctly", equal, form.format(*tokens) + counts)
