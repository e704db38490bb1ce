"""Packages made by hand: what a node's notebook predicts with, and scripts that predict well, fail, or write the wrong rows."""

from collections.abc import Mapping
from pathlib import Path

from bot.engine.notebook_check import NOTEBOOK_CHECKED, NotebookCheckResult
from bot.evaluation.answers.blends import BlendRecipe, combine_text, combining_facts
from bot.notebooks.notebook import Notebook, NotebookBlend, NotebookScript
from bot.notebooks.package import Facts, write_package
from bot.notebooks.weights import lay_flat
from bot.simulator.site.settings import SiteSettings
from bot.submission.files import BUNDLE, FILES, NotebookBundle
from state.steps import Key, finish_step, start_step
from tests.bot.submission.service_parts import RUN, Live

INFER = """
import csv, os
from pathlib import Path

[slope] = [float(one.read_text()) for one in Path(os.environ["BOT_WEIGHTS"]).iterdir()]
rows = list(csv.DictReader(open(Path(os.environ["BOT_DATA"]) / "test.csv")))
print(len(rows), "rows")
with open("submission.csv", "w") as file:
    print("id,label", file=file)
    for row in rows:
        print(f"{row['id']},{min(max(0.5 + slope * float(row['a']), 0.01), 0.99)}", file=file)
"""
BROKEN = "import csv\nprint('so far')\nraise ValueError('there is no such column')\n"
NOTHING = "print('nothing is written')\n"
ONE_ROW = "open('submission.csv', 'w').write('id,label\\nr0240,0.5\\n')\n"
SLOW = "import time\ntime.sleep(60)\n"
ALL_SHOWN = SiteSettings(grading_seconds=(1.0, 2.0), public_test=1.0, kernel_seconds=(600.0, 1200.0))
"""Each test row is public, so that the views of the ground fit; the site's runs take ten minutes of its clock and more."""


def pack(run: Live, node: int, code: str = INFER, *, slope: float = 0.2, accelerator: str | None = None) -> None:
    """Make a node's package, as if it had been rehearsed and packed; another slope is another package."""
    weights, flat = run.folder / f"weights{node}", run.folder / f"flat{node}"
    weights.mkdir()
    (weights / "slope.txt").write_text(str(slope))
    files = lay_flat({"": weights}, flat)
    _write(run, node, NotebookScript(code, False, run.context.card.slug, files, 60.0), flat, accelerator)


def pack_blend(run: Live, node: int, slopes: Mapping[int, float], weights: Mapping[int, float]) -> None:
    """Make the package of a blend of nodes, the mean of what they predict, each by its slope."""
    names, flat, card = {one: f"node{one}" for one in slopes}, run.folder / f"flat{node}", run.context.card
    for one, slope in slopes.items():
        (run.folder / names[one]).mkdir()
        (run.folder / names[one] / "slope.txt").write_text(str(slope))
    files = lay_flat({f"{name}/": run.folder / name for name in names.values()}, flat)
    facts = combining_facts(card, BlendRecipe("mean", weights), names)
    codes = dict.fromkeys(names.values(), INFER)
    _write(run, node, NotebookBlend(codes, combine_text(), facts, card.slug, files, 60.0), flat)


def _write(run: Live, node: int, script: Notebook, flat: Path, accelerator: str | None = None) -> None:
    facts = Facts(
        node=node,
        runs="blend" if isinstance(script, NotebookBlend) else "infer",
        competition=script.competition,
        weights=script.weights,
        weights_from="refit",
        accelerator=accelerator,
        image=None,
        seconds=3600.0,
        rows=600,
    )
    (run.folder / FILES).mkdir(exist_ok=True)
    write_package(run.folder / FILES / f"node{node}.zip", facts, script, flat)
    package = NotebookBundle("a notebook that runs infer.py")
    with run.store.write() as tx:
        start_step(tx, RUN, NOTEBOOK_CHECKED, Key(node))
        finish_step(tx, RUN, NOTEBOOK_CHECKED, NotebookCheckResult(reason=None), Key(node))
        start_step(tx, RUN, BUNDLE, Key(node))
        finish_step(tx, RUN, BUNDLE, package, Key(node))
