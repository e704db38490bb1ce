"""The solution for a person's own data as a package: scripts, training data or models, and `predict.py` for new rows."""

import ast
import csv
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.engine.attempts import blend_of, code, infer_code
from bot.engine.context import RunContext
from bot.evaluation.answers.blends import COMBINED, combine_text, combining_facts
from bot.evaluation.client.worker import Worker
from bot.execution.machine import Machine
from bot.execution.record import GUARDED
from bot.notebooks.weights import WEIGHTS
from bot.report.solution import script_files, time_limit
from bot.solve.build_snapshot import FORM, FORMATS, WITHHELD
from bot.submission.final_submission import FinalSubmission
from bot.submission.refit import refit_scripts
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.files import walk
from scrapers.snapshots.linking import link_files

_PREDICT = Path(__file__).with_name("predict.py.txt")
_TABLES = Path(__file__).with_name("tables")
_MIN_SECONDS, _TIME_FACTOR = 300, 4
"""A script gets at least this time, and so many times its limit in the run: with too little it predicts a baseline."""
_IMPORTED_AS = {
    "scikit-learn": "sklearn",
    "pillow": "PIL",
    "opencv-python-headless": "cv2",
    "scikit-image": "skimage",
    "xgboost-cpu": "xgboost",
    "imbalanced-learn": "imblearn",
    "umap-learn": "umap",
}
_README = """# {slug}: a solution that predicts new rows

```sh
python3 -m venv .venv && .venv/bin/pip install -r requirements.txt
.venv/bin/python predict.py {new} --out predictions.csv
```

Made with Python {python} and the packages in `requirements.txt`; there are no other dependencies.
{rows}

{how}

The scripts were written by {author} and run as your user, without a sandbox: read them before you run them.

"""


async def write_package(
    context: RunContext, submission: FinalSubmission, folder: Path, snapshot: Path, model: str, worker: Worker
) -> str | None:
    """Add predict.py, and all that it needs, to a solution's folder.

    The folder holds the scripts, which `model` wrote, and their README; `snapshot` is the run's generated snapshot.

    Returns:
        Why there is no predict.py, in a clause; None: there is.

    Raises:
        BotError: the view of all training rows cannot be built.
        OSError: a file cannot be written.
    """
    if submission.node is None:
        return "no script has a score"
    blended = blend_of(context.store, context.run_id, submission.node)
    recipe = None if blended is None else blended.recipe
    if recipe is not None and recipe.space not in COMBINED:
        return f"the ensemble method {recipe.space} is not supported for new rows: see recipe.json"
    view = (await context.executor.view("full")).data
    facts = _rows(view, context.card)
    if facts["features"] is None and facts["files"] is None:
        return "predicting new rows requires more than one table or folder; README.md says what the scripts read"
    scripts = script_files(context, submission.node)
    infer_scripts = await _store_models(context, submission, scripts, folder, worker)
    facts["stored"] = {scripts[node]: name for node, name in infer_scripts.items()}
    facts["withheld"] = facts.pop("rows") * (snapshot / WITHHELD).is_file()
    if (facts["withheld"] or len(infer_scripts) < len(scripts)) and not (folder / "data").exists():
        partial = folder / "data.partial"
        partial.mkdir(exist_ok=True)
        link_files(view, partial, lambda _: True, lambda _: None)
        _add_withheld(snapshot / WITHHELD, partial / "train.csv")
        partial.rename(folder / "data")
    facts |= json.loads((snapshot / FORMATS).read_text(encoding="utf-8"))
    form = snapshot / FORM
    facts["key"] = form.read_text(encoding="utf-8").splitlines()[0].split(",")[1:] if form.is_file() else []
    shutil.copytree(_TABLES, folder / "tables", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    seconds = max(_MIN_SECONDS, _TIME_FACTOR * max(time_limit(context, node) for node in scripts))
    facts |= combining_facts(context.card, recipe, scripts)
    facts |= {"seconds": seconds, "cpus": context.machine.cpus}
    texts = [(infer_code(context, node) if node in infer_scripts else "") or code(context, node) for node in scripts]
    packages = used_packages(context.machine, [*texts, predict_text()])
    facts["imports"] = list(packages)
    facts["is_constant"] = _is_constant(context.executor.folder.submission, len(facts["key"] or [1]))
    (folder / "package.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    (folder / "predict.py").write_text(predict_text(packages.values()), encoding="utf-8")
    (folder / "requirements.txt").write_text("".join(f"{r}\n" for r in packages.values()), encoding="utf-8")
    readme = folder / "README.md"
    head = _readme_head(context, facts, len(scripts), model)
    readme.write_text(head + readme.read_text(encoding="utf-8"), encoding="utf-8")
    return None


async def _store_models(
    context: RunContext, submission: FinalSubmission, scripts: Mapping[int, str], folder: Path, worker: Worker
) -> dict[int, str]:
    """Store the fitted models behind the predictions; return the scripts that predict with them, by node."""
    executor, infer_scripts = context.executor, dict[int, str]()
    refits = await refit_scripts(context, submission.node or 0, worker) if submission.source == "refit" else {}
    for node, script in scripts.items():
        infer = infer_code(context, node)
        source = (refits[node].file if node in refits else executor.submission_of(node, GUARDED)).parent / WEIGHTS
        if infer is None or not source.is_dir() or not any(source.iterdir()):
            continue
        target, name = folder / WEIGHTS / Path(script).stem, f"predict_{script}"
        target.mkdir(parents=True, exist_ok=True)
        link_files(source, target, lambda _: True, lambda _: None)
        (folder / name).write_text(infer, encoding="utf-8")
        infer_scripts[node] = name
    return infer_scripts


def _add_withheld(withheld: Path, train: Path) -> None:
    """Add the rows that were withheld to score the run to the training rows."""
    if withheld.is_file():
        content = train.read_bytes() + withheld.read_bytes().partition(b"\n")[2]
        train.unlink()  # a hard link to the view's file
        train.write_bytes(content)


def used_packages(machine: Machine, scripts: Iterable[str]) -> dict[str, str]:
    """Return the machine's packages that scripts import, by imported name, as lines of requirements.txt."""
    imported = {name for script in scripts for name in _imports(script)}
    versions = dict(package.split(" ", 1) for package in machine.packages)
    names = {name: _IMPORTED_AS.get(name, name.replace("-", "_")) for name in versions}
    return {names[name]: f"{name}=={version}" for name, version in versions.items() if names[name] in imported}


def predict_text(packages: Iterable[str] = ()) -> str:
    """Return predict.py, with these packages as its dependencies for `uv run` (PEP 723)."""
    quoted = ", ".join(f'"{package}"' for package in packages)
    metadata = f'# /// script\n# requires-python = ">=3.11"\n# dependencies = [{quoted}]\n# ///\n'
    return metadata + _PREDICT.read_text(encoding="utf-8").replace("{{ combine }}", combine_text())


def _is_constant(submission: Path, keys: int) -> bool:
    """Whether all rows of a submission have the same predictions, as when nothing could be learned."""
    with submission.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    return len({tuple(row[keys:]) for row in rows}) < 2


def _imports(script: str) -> Iterable[str]:
    for node in ast.walk(ast.parse(script)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def _rows(view: Path, card: TaskCard) -> dict[str, Any]:
    """Return facts on test rows: their number, and the columns of their table or the folder of their files."""
    with (view / "sample_submission.csv").open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        first = next(reader)
        ids = [first[card.id_column], *(row[card.id_column] for row in reader)]
    table, features = view / "test.csv", None
    if table.is_file():
        with table.open(encoding="utf-8", newline="") as file:
            features = next(csv.reader(file), None)
    of_files = features is None or features == [card.id_column]
    place = next((path for path in walk(view) if ids[0] in (path.name, path.stem)), None) if of_files else None
    return {
        "id": card.id_column,
        "rows": len(ids),
        "default": [first[name] for name in card.prediction_columns],
        "features": features,
        "files": None if place is None else place.parent.relative_to(view).as_posix(),
        "suffixed": place is not None and place.name == ids[0],
        "next_id": _first_number(ids),
    }


def _first_number(ids: Sequence[str]) -> int:
    """Return the number of the first new row without an id: that of the first test row, or the next if they have gaps.

    The test table itself, predicted again, thus gets the ids of submission.csv.
    """
    numbers = sorted(int(id) for id in ids if id.isascii() and id.isdigit())
    if not numbers:
        return 0
    return numbers[0] if numbers[-1] - numbers[0] + 1 == len(ids) else numbers[-1] + 1


def _usage_lines(facts: Mapping[str, Any], scripts: int) -> Iterable[str]:
    stored_count = len(facts["stored"])
    if stored_count:
        yield f"Scripts that predict with the fitted models in `weights/`: {stored_count} of {scripts}."
        if facts["withheld"]:
            yield (
                f"They have not learned from the {facts['withheld']:,} rows that were withheld to score the result: "
                "with `--retrain` the scripts train on all rows first."
            )
    if stored_count < scripts:
        yield (
            f"Scripts that train again on `data/` at each call: {scripts - stored_count} of {scripts}, for at most "
            f"{facts['seconds']} s each (`--time`). With less time, or on a slower machine, predictions may differ."
        )


def _readme_head(context: RunContext, facts: Mapping[str, Any], scripts: int, model: str) -> str:
    features = facts["features"]
    if facts["files"] is not None:
        new, rows = "NEW_FOLDER", "NEW_FOLDER holds new files of the same kind as the training files."
    else:
        columns_shown = [name for name in features if name != facts["id"]]
        column_words = ", ".join(f"`{name}`" for name in columns_shown[:10])
        column_words += f" and {len(columns_shown) - 10} more" if len(columns_shown) > 10 else ""
        new = "NEW.csv"
        rows = f"NEW.csv needs the columns {column_words}.\nRows without `{facts['id']}` are numbered."
    return _README.format(
        slug=context.card.slug,
        new=new,
        rows=rows,
        python=context.machine.python,
        how=" ".join(_usage_lines(facts, scripts)),
        author="the built-in rule-based model" if model == "builtin" else model,
    )
