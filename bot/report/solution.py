"""The solution folder: the script that made the submission, or those of a blend, and how a person runs it."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from bot.engine.attempts import blend_of, code, infer_code, load_tree
from bot.engine.context import RunContext
from bot.engine.experiment import all_experiments
from bot.evaluation.answers.blends import BlendRecipe, FittedBlend
from bot.submission.final_submission import FinalSubmission

_README = """# Solution: node {node}

{made}

Run it in a folder that contains only `data/`, with the competition's files, `validation.csv` and `sample_validation.csv`
(additional rows to predict; a few training rows without labels are enough).
The run folder has such folders under `views/`: `views/full` for a refit, `views/holdout` for the scored run.

```sh
mkdir work && cd work
cp -r ../../views/{view} data
BOT_TIME_LIMIT={seconds} BOT_CPUS={cpus} BOT_GPUS=0 python ../{script}
```
{blend}
Python {python}; packages: {packages}.
"""

_BLEND = """
This is an ensemble: run each script in its own folder and combine the predictions in the `submission.csv` files.

| script | weight |
|---|---|
{rows}

The ensemble method is `{space}`: {how}. {calibration} `recipe.json` has the exact values.
"""
_METHODS = {
    "mean": "their weighted mean",
    "logit": "the weighted mean of their logits, log(p / (1 - p)), converted back to probabilities",
    "log": "the weighted mean of log(1 + prediction), transformed back",
    "rank": "the weighted mean of their ranks among the test rows",
    "classes": "the class with the largest weighted sum of log probabilities plus the class's offset",
    "numbers": "the weighted sum of the numbers that their labels represent, converted back to labels with thresholds",
    "vote": "the label with the most weight in each row",
    "ordinal": "the weighted mean of their labels as numbers, converted back to labels with thresholds",
    "share": "for each row, the labels listed by members that together have more than half of the weight",
    "pixels": "the pixels marked by members that together have more than half of the weight",
    "fusion": "each row's items, ranked by their weighted positions in the lists",
}

_OF_EXPERIMENTS = """# Solution: {subject}

{made}

| experiment | weight | made in | command for all rows |
|---|---|---|---|
{rows}

Each experiment has a folder with the files that its coding agent logged. The experiment ran in the work folder of its lab,
`../labs/labN/work`, which contains the shared files and, in `data/`, the competition's files. Its folds were in `/lab/folds.csv`,
which is now `../evaluator/folds/folds.csv`. The predictions are in `../experiments/NAME/`.
{blend}
Python {python}; packages: {packages}.
"""
_ENSEMBLE = """
The ensemble method is `{space}`: {how}{free}. {calibration} `recipe.json` has the exact values.
"""


def write_solution(context: RunContext, final: FinalSubmission, folder: Path) -> int:
    """Fill the folder anew: the chosen node's script, or a blend's, and a README; return the length of the agent's code."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    if final.node is None:
        return 0
    if not context.needs_scripts and (texts := _write_experiments(context, final, folder)) is not None:
        return sum(map(len, texts))
    blended, nodes = blend_of(context.store, context.run_id, final.node), script_files(context, final.node)
    for node, name in nodes.items():
        (folder / name).write_text(code(context, node), encoding="utf-8")
    machine = context.machine
    text = _README.format(
        node=final.node,
        made=_origin_sentence(final, "`solution.py`" if blended is None else "The ensemble of these scripts"),
        script=next(iter(nodes.values())),
        blend="" if blended is None else _combined(blended.recipe, _BLEND, rows=_rows(blended.recipe, nodes)),
        view="full" if final.source == "refit" else "holdout",
        seconds=time_limit(context, next(iter(nodes))),
        cpus=machine.cpus,
        python=machine.python,
        packages=", ".join(machine.packages),
    )
    _write_readme_and_recipe(folder, text, blended)
    scripts = nodes.keys() - {node.id for node in load_tree(context).nodes if node.baseline}
    return sum(map(len, {text for node in scripts for text in (code(context, node), infer_code(context, node) or "")}))


def _write_readme_and_recipe(folder: Path, text: str, blended: FittedBlend | None) -> None:
    (folder / "README.md").write_text(text, encoding="utf-8")
    if blended is not None:
        (folder / "recipe.json").write_text(json.dumps(asdict(blended.recipe), indent=1) + "\n", encoding="utf-8")


def _write_experiments(context: RunContext, final: FinalSubmission, folder: Path) -> set[str] | None:
    """Write the files and commands of experiments and of what they use; return the agent's texts, None: scripts made it."""
    by_node = {experiment.node: experiment for experiment in all_experiments(context.store, context.run_id)}
    blended = None if final.node is None else blend_of(context.store, context.run_id, final.node)
    weights = {final.node: 1.0} if blended is None else blended.recipe.weights
    members = [by_node[node] for node in sorted(weights, key=lambda node: -abs(weights[node])) if node in by_node]
    if len(members) < len(weights):
        return None
    by_name = {experiment.name: experiment for experiment in by_node.values()}
    for experiment in members:
        members += [by_name[name] for name in experiment.uses if name in by_name and by_name[name] not in members]
    rows, texts = [], set[str]()
    for experiment in members:
        for name, sha in experiment.sources.items():
            target = folder / experiment.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content := context.store.blob(sha))
            texts |= {content.decode()} if experiment.kind != "portfolio" else set()
        weight = f"{weights[experiment.node]:.4f}" if experiment.node in weights else "used by others"
        origin = f"`{experiment.retrain}`" if experiment.retrain else "no command"
        if experiment.kind == "portfolio":
            origin = f"the portfolio, with `../fits/{experiment.name.partition('/')[0]}/`"
        rows.append(f"| {experiment.name} | {weight} | lab {experiment.lab} | {origin} |")
    text = _OF_EXPERIMENTS.format(
        subject="the ensemble" if blended is not None else f"experiment {members[0].name}",
        made=_origin_sentence(final, "The ensemble of these experiments" if blended is not None else "This experiment"),
        rows="\n".join(rows),
        blend="" if blended is None else _combined(blended.recipe, _ENSEMBLE),
        python=context.machine.python,
        packages=", ".join(context.machine.packages),
    )
    _write_readme_and_recipe(folder, text, blended)
    return texts


def script_files(context: RunContext, node: int) -> Mapping[int, str]:
    """Return the names of the files that a node's scripts have in the folder: its own, or a blend's, the heaviest first."""
    blended = blend_of(context.store, context.run_id, node)
    if blended is None:
        return {node: "solution.py"}
    heaviest_first = sorted(blended.recipe.weights.items(), key=lambda item: -item[1])
    return {node: f"solution_{node}.py" for node, _ in heaviest_first}


def time_limit(context: RunContext, node: int) -> int:
    """Return the time limit of a script's scored run, in whole seconds; the run's, if it is not known."""
    execution = context.executor.kept_execution(node)
    return round(context.budget.seconds if execution is None or execution.limit is None else execution.limit)


def _rows(recipe: BlendRecipe, nodes: Mapping[int, str]) -> str:
    rows = []
    for node, name in nodes.items():
        weights = ", ".join(f"{weight:.4f}" for weight in recipe.columns.get(node, ()))
        rows.append(f"| `{name}` | {recipe.weights[node]:.4f}{f' (by column: {weights})' if weights else ''} |")
    return "\n".join(rows)


def _combined(recipe: BlendRecipe, text: str, **facts: str) -> str:
    values = {name: ", ".join(f"{value:.6g}" for value in values) for name, values in recipe.calibration.items()}
    steps = "; ".join(f"{name}: {text}" for name, text in values.items())
    calibration = f"Calibration: {steps}." if steps else "The result is not calibrated."
    if recipe.ties:
        calibration += " Some columns are then binned into levels with the same frequencies as the labels (`ties`)."
    free = abs(sum(recipe.weights.values()) - 1) > 1e-6 or min(recipe.weights.values()) < 0
    return text.format(
        space=recipe.space,
        how=_METHODS[recipe.space],
        free=" (a weighted sum, not a mean: the weights include negative values or do not add up to 1)" if free else "",
        calibration=calibration,
        **facts,
    )


def _origin_sentence(final: FinalSubmission, subject: str) -> str:
    predicate = "is the run's best result;" if final.source is None else "produced `submission.csv`:"
    return f"{subject} {predicate} {final.note}."
