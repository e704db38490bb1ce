"""Trying out a coding agent of the owner's: a short run on the bundled competition, against a scripted endpoint."""

import math
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sqlmodel import select

from bot.coder.own import ChosenCoder, own_coder
from bot.coder.scripted.endpoint import Endpoint, serving
from bot.configuration import read_settings
from bot.engine.tree import BASELINE
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import RunFolder
from bot.execution.open_leases import open_leases
from bot.models import Usage
from bot.models.pricing import Price
from bot.models.sections import ModelsSection
from bot.models.settings import Environment, ModelChoice, ModelSettings
from bot.replay.prepare import prepare
from bot.replay.run import Show
from bot.replay.setup import ReplayOptions, Setup
from bot.replay.several import Failed, run_each
from sandbox import BackEndChoice
from sandbox.choose import choose
from sandbox.environments import chosen_environment
from sandbox.instance import instance_of
from scrapers.snapshots.demo import write_demo
from scrapers.snapshots.snapshot import Snapshot
from state.clock import SystemClock
from state.labs import labs
from state.spending import Spent, spent
from state.store import Store
from state.tables import Node

_SECONDS = 300.0
_SHOWN = 3_000
_MODEL = "scripted"
_PRICE = Price(input=3.0, output=15.0, cached=0.3)
_SCRIPT = """import shutil
shutil.copy("data/sample_validation.csv", "validation_predictions.csv")
shutil.copy("data/sample_submission.csv", "submission.csv")
"""
_BETTER = """import pandas as pd
from sklearn.naive_bayes import GaussianNB
train, sample = pd.read_csv("data/train.csv"), pd.read_csv("data/sample_submission.csv")
pixels = [name for name in train if name.startswith("p")]
model = GaussianNB(var_smoothing=0.1).fit(train[pixels], train["digit"])
for asked, written in (("validation", "validation_predictions"), ("test", "submission")):
    rows = pd.read_csv(f"data/{asked}.csv")
    chances = pd.DataFrame(model.predict_proba(rows[pixels]), rows["id"], model.classes_)
    chances[sample.columns[1:]].to_csv(f"{written}.csv")
"""
_COMMANDS = (
    "pwd; ls; head -n 3 /lab/TASK.md; lab status",
    f"cat > solution.py <<'EOF'\n{_SCRIPT}EOF\nlab score solution.py --note 'the sample as it is'",
    f"cat > solution.py <<'EOF'\n{_BETTER}EOF\nlab score solution.py --note 'naive Bayes on the pixels'",
    "printf 'believed: nothing\\nseen: a score\\nwhy: a check\\ncondition: none\\n' | lab done",
    # mini-swe-agent ends by this, and to no other agent it means anything.
    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
)
_EDITS = {
    "import shutil": f"solution.py\n```python\n<<<<<<< SEARCH\n=======\n{_SCRIPT}>>>>>>> REPLACE\n```\n",
    "GaussianNB": f"solution.py\n```python\n<<<<<<< SEARCH\n{_SCRIPT}=======\n{_BETTER}>>>>>>> REPLACE\n```\n",
}
"""By what a script shows that has them."""


@dataclass(frozen=True)
class Seen:
    """One thing that was to be seen of an agent."""

    what: str
    ok: bool
    found: str


@dataclass(frozen=True)
class CoderCheck:
    """What came of trying an agent out."""

    seen: tuple[Seen, ...]
    printed: str
    """The end of what it printed."""


def check_coder(name: str, file: Path | None, back_end: BackEndChoice, folder: Path, show: Show) -> CoderCheck:
    """Have an agent work in a lab in which its model follows a script, and return what was seen of it.

    Args:
        name: of its table in bot.toml.
        file: bot.toml.
        back_end: where the lab is.
        folder: an empty one, for the competition and the run.
        show: where the run shows its progress.

    Raises:
        UsageError: there is no such agent, it is not installed, or there is no sandbox for it.
    """
    configuration = read_settings(file)
    choice = ModelChoice("openai", _MODEL)
    own = own_coder(name, configuration.coders, choice)
    sandbox = choose(
        back_end,
        trusted=False,
        instance=instance_of(folder),
        settings=configuration.sandbox,
        environment=chosen_environment(configuration.sandbox.environments_folder, configuration.sandbox.environment),
    )
    snapshot = Snapshot.load(write_demo(folder / "competition"), METRIC_DIRECTIONS)
    options = ReplayOptions(time=_SECONDS, steps=3, coder=name)
    with serving(Endpoint(_COMMANDS, _EDITS)) as endpoint:
        models = ModelSettings(
            Environment(openai_base_url=endpoint.address, openai_api_key=None, openai_model=None),
            ModelsSection(prices={_MODEL: _PRICE}),
        )
        setup = Setup(options, folder, file, configuration, models, choice, sandbox, "lab", ChosenCoder(own=own))
        settings = setup.settings(snapshot, "comind", 0, ["no-community", "no-race", "no-blend"])
        [run] = prepare([(snapshot, settings)], folder, datetime.now(UTC))
        with open_leases(configuration.leases, 0) as (leases, _):
            [outcome] = run_each([setup.job(run)], leases, lambda job: nullcontext(show))
    failed = [Seen("the run", False, outcome.result.error)] if isinstance(outcome.result, Failed) else []
    seen = (*failed, *_seen(run.folder, run.id, endpoint))
    return CoderCheck(seen, _printed(run.folder))


def _seen(folder: RunFolder, run_id: str, endpoint: Endpoint) -> Iterator[Seen]:
    """Yield what a run's database and the endpoint say of the agent."""
    with Store.open(folder.database, SystemClock()) as store:
        rows = labs(store, run_id)
        with store.read() as session:
            nodes = session.exec(select(Node).where(Node.run_id == run_id, Node.id != BASELINE)).all()
        charged = spent(store, run_id).get("tokens", Spent())
    asked = len(endpoint.answered)
    yield Seen("asked its model", asked > 0, f"{asked} requests")
    turns = max((to.turns for _, to, _ in endpoint.answered), default=0)
    yield Seen("did as it was told", turns > 0, f"{turns} answers were followed")
    scores = [node.score for node in sorted(nodes, key=lambda node: node.id) if node.score is not None]
    told = ", then ".join(f"{score:.5g}" for score in scores)
    yield Seen("had a script scored", bool(scores), f"score {told}" if scores else "no script has a score")
    better = len(scores) > 1 and scores[-1] < scores[0]
    yield Seen("improved it", better, "the second is better" if better else "no second script is better")
    reason = rows[0].reason if rows else None
    yield Seen("ended in order", reason == "its coder was done", reason or "its lab was not opened")
    used = endpoint.counted
    tokens = (charged.prompt_tokens, charged.cached_tokens, charged.completion_tokens)
    cost = _PRICE.cost(Usage(used.prompt, used.completion, used.cached))
    equal = tokens == (used.prompt, used.cached, used.completion) and math.isclose(charged.cost_usd, cost)
    found = f"{tokens[0]} tokens sent ({tokens[1]} cached), {tokens[2]} received, {charged.cost_usd:.4f} USD"
    if not equal:
        found += f"; the endpoint counted {used.prompt} ({used.cached}), {used.completion}, {cost:.4f} USD"
    yield Seen("was charged for", equal, found)


def _printed(folder: RunFolder) -> str:
    """Return the end of what the agent printed at its last start."""
    logs = sorted(folder.labs.glob("lab*/logs/[0-9]*.txt"), key=lambda path: path.stat().st_mtime)
    return logs[-1].read_text(encoding="utf-8", errors="replace")[-_SHOWN:] if logs else ""
