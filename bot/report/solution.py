"""The solution folder: the script that made the submission, or those of a blend, and how a person runs it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bot.engine.attempts import blend_of, code
from bot.engine.context import RunContext
from bot.engine.experiment import all_experiments
from bot.evaluation.answers.blends import BlendRecipe
from bot.execution.record import kept_execution
from bot.submission.final_submission import FinalSubmission

_README = """# Solution: node {node}

{made}

It starts in an empty folder that holds `data/`: the competition's files, and `validation.csv` with
`sample_validation.csv` (rows to predict besides the test rows; any few training rows without their labels will do).
The run's own folder has such a `data/` under `views/`: `views/full` for a refit, `views/holdout` for the scored run.

```sh
mkdir work && cd work
cp -r ../../views/{view} data
BOT_TIME_LIMIT={seconds} BOT_CPUS={cpus} BOT_GPUS=0 python ../{script}
```
{blend}
Python {python}; packages: {packages}.
"""

_BLEND = """
This is a blend: run each of these scripts in a folder of its own, and combine what their `submission.csv` predict.

| script | weight |
|---|---|
{rows}

The predictions are combined as `{space}`: {how}. {calibration} `recipe.json` has the same, to all digits.
"""
_HOW = {
    "mean": "their weighted mean",
    "logit": "the weighted mean of their logits, log(p / (1 - p)), turned back into probabilities",
    "log": "the weighted mean of log(1 + prediction), turned back",
    "rank": "the weighted mean of their ranks among the test rows",
    "classes": "the class with the largest sum of weights times logarithms of probabilities, and offsets",
    "numbers": "the weighted sum of the numbers behind their labels, cut into labels at the thresholds",
    "vote": "each row's label with the most weight",
    "ordinal": "the weighted mean of their labels as numbers, cut into labels at the thresholds",
    "share": "of each row's lists the labels that half of the weight names",
    "pixels": "the pixels that more than half of the weight has",
    "fusion": "each row's items by their weighted places in the lists",
}


_TIES = " Then the order of some columns is cut into levels as frequent as those of the labels (`ties`)."

_OF_EXPERIMENTS = """# Solution: {what}

{made}

| experiment | weight | made in | on all rows by |
|---|---|---|---|
{rows}

Each has a folder with the files that its coder logged. They ran in the `work/` of their lab, `../labs/labN/work`, where what they
share lies, with the competition's files in `data/` and a fold for each training row in `/lab/folds.csv` (here
`../evaluator/folds/folds.csv`). What they predicted is in `../experiments/NAME/`.
{blend}
Python {python}; packages: {packages}.
"""
_ENSEMBLE = """
The ensemble combines what they predict as `{space}`: {how}{free}. {calibration} `recipe.json` has the same, to all digits.
"""


def write_solution(context: RunContext, handed: FinalSubmission, folder: Path) -> None:
    """Write the script, or a blend's, and a README, even if the chosen node was not handed in; without one, write nothing."""
    if handed.node is None:
        return
    folder.mkdir(exist_ok=True)
    if context.experiments is not None and not context.needs_scripts and _write_experiments(context, handed, folder):
        return
    blended, nodes = blend_of(context.store, context.run_id, handed.node), script_files(context, handed.node)
    if blended is not None:
        (folder / "recipe.json").write_text(json.dumps(asdict(blended.recipe), indent=1) + "\n", encoding="utf-8")
    for node, name in nodes.items():
        (folder / name).write_text(code(context, node), encoding="utf-8")
    machine = context.machine
    text = _README.format(
        node=handed.node,
        made=_made(handed, "`solution.py`" if blended is None else "The blend of these scripts"),
        script=next(iter(nodes.values())),
        blend="" if blended is None else _described(blended.recipe, nodes),
        view="full" if handed.source == "refit" else "holdout",
        seconds=time_limit(context, next(iter(nodes))),
        cpus=machine.cpus,
        python=machine.python,
        packages=", ".join(machine.packages),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")


def _write_experiments(context: RunContext, handed: FinalSubmission, folder: Path) -> bool:
    """Write the files and commands of an experiment, or of an ensemble's, and of what they use; return whether it is one."""
    known = {one.node: one for one in all_experiments(context.store, context.run_id)}
    blended = None if handed.node is None else blend_of(context.store, context.run_id, handed.node)
    weights = {handed.node: 1.0} if blended is None else blended.recipe.weights
    members = [known[node] for node in sorted(weights, key=lambda one: -abs(weights[one])) if node in known]
    if len(members) < len(weights):
        return False
    named = {one.name: one for one in known.values()}
    for one in members:
        members += [named[name] for name in one.uses if name in named and named[name] not in members]
    rows = []
    for one in members:
        for name, sha in one.sources.items():
            target = folder / one.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(context.store.blob(sha))
        weight = f"{weights[one.node]:.4f}" if one.node in weights else "used by others"
        how = (
            f"the portfolio, on `../fits/{one.name.partition('/')[0]}/`"
            if one.kind == "portfolio"
            else f"`{one.retrain}`"
            if one.retrain
            else "no command"
        )
        rows.append(f"| {one.name} | {weight} | lab {one.lab} | {how} |")
    if blended is not None:
        (folder / "recipe.json").write_text(json.dumps(asdict(blended.recipe), indent=1) + "\n", encoding="utf-8")
    text = _OF_EXPERIMENTS.format(
        what="the ensemble" if blended is not None else f"experiment {members[0].name}",
        made=_made(handed, "The ensemble of these experiments" if blended is not None else "This experiment"),
        rows="\n".join(rows),
        blend="" if blended is None else _combined(blended.recipe, _ENSEMBLE),
        python=context.machine.python,
        packages=", ".join(context.machine.packages),
    )
    (folder / "README.md").write_text(text, encoding="utf-8")
    return True


def script_files(context: RunContext, node: int) -> Mapping[int, str]:
    """Return the names of the files that a node's scripts have in the folder: its own, or a blend's, the heaviest first."""
    blended = blend_of(context.store, context.run_id, node)
    if blended is None:
        return {node: "solution.py"}
    weights = blended.recipe.weights
    return {one: f"solution_{one}.py" for one in sorted(weights, key=lambda one: -weights[one])}


def time_limit(context: RunContext, node: int) -> int:
    """Return the time limit of a script's scored run, in whole seconds; the run's, if it is not known."""
    with context.store.read() as session:
        done = kept_execution(session, context.run_id, node)
    return round(context.budget.seconds if done is None or done.limit is None else done.limit)


def _described(recipe: BlendRecipe, nodes: Mapping[int, str]) -> str:
    rows = "\n".join(
        f"| `{name}` | {recipe.weights[node]:.4f}{_by_column(recipe, node)} |" for node, name in nodes.items()
    )
    return _combined(recipe, _BLEND, rows=rows)


def _combined(recipe: BlendRecipe, text: str, **facts: str) -> str:
    steps = "; ".join(
        f"{name}: {', '.join(f'{one:.6g}' for one in values)}" for name, values in recipe.calibration.items()
    )
    calibration = f"The result is calibrated by {steps}." if steps else "Nothing is done to the result."
    free = abs(sum(recipe.weights.values()) - 1) > 1e-6 or min(recipe.weights.values()) < 0
    return text.format(
        space=recipe.space,
        how=_HOW[recipe.space],
        free=", or rather their sum with these weights" if free else "",
        calibration=calibration + (_TIES if recipe.ties else ""),
        **facts,
    )


def _by_column(recipe: BlendRecipe, node: int) -> str:
    own = recipe.columns.get(node)
    return f" (by column: {', '.join(f'{weight:.4f}' for weight in own)})" if own else ""


def _made(handed: FinalSubmission, what: str) -> str:
    if handed.source is None:
        return f"{what} is the run's best; {handed.note}."
    return f"{what} made `submission.csv`: {handed.note}."
