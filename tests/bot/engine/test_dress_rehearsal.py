"""The dress rehearsal of notebooks: what would fail on Kaggle, or take too long there, fails here with the reason."""

import json
import zipfile
from pathlib import Path

import pytest

from bot.engine.attempts import attempt, load_tree
from bot.engine.dress_rehearsal import REFUSED, rehearsed
from bot.evaluation.client.worker import Worker
from bot.notebooks.limits import NotebookLimits
from bot.notebooks.package import Package
from bot.submission.packing import made_package
from sandbox.bubblewrap import BubblewrapSandbox
from state.errors import InvalidSubmission
from tests import needs
from tests.bot.engine.notebooks import INFER, SOLUTION, notebook_run, score
from tests.bot.engine.parts import RUN

pytestmark = [pytest.mark.asyncio, pytest.mark.integration]

_SLOW = INFER.replace("        p =", "        __import__('time').sleep(0.05)\n        p =")
_COUNTED = INFER.replace('open(data / "test.csv"))', 'list(csv.DictReader(open(data / "test.csv")))[:60]').replace(
    "    for row in", "    for n in range(60):\n        row = rows[n]\n    for row in"
)
WRONG = {
    "hard-codes the number of rows": (
        """
import csv, os
rows = list(csv.DictReader(open(os.environ["BOT_DATA"] + "/test.csv")))
with open("submission.csv", "w") as file:
    print("id,label", file=file)
    for n in range(60):
        print(rows[n]["id"], 0.5, sep=",", file=file)
""",
        r"infer.py failed in the dress rehearsal on 12 test rows: .*IndexError: list index out of range\. There the folder "
        "BOT_DATA holds",
    ),
    "reads the training view by its path": (
        INFER.replace('Path(os.environ["BOT_DATA"])', 'Path("/solution/work/data")'),
        "FileNotFoundError: .*'/solution/work/data/test.csv'",
    ),
    "reads data/ as the first script does": (
        INFER.replace('Path(os.environ["BOT_DATA"])', 'Path("data")'),
        "FileNotFoundError: .*'data/test.csv'",
    ),
    "needs the network": (
        f"import urllib.request\nurllib.request.urlopen('http://pypi.org/simple/', timeout=5)\n{INFER}",
        "URLError: .*name resolution",
    ),
    "is too slow for the hidden rows": (
        INFER.replace("        p =", "        __import__('time').sleep(0.02)\n        p ="),
        r"infer.py is too slow: it took .* s for 12 test rows and .* s for 48, so .* s are to be expected for the 600 hidden "
        r"ones; 8 s may be used \(60% of the limit of 0.00360648 h\)",
    ),
    "answers with what was predicted of the test rows": (
        INFER.replace('for row in csv.DictReader(open(data / "test.csv")):', 'for n, row in enumerate(csv.DictReader(open(data / "test.csv"))):')
        .replace("        p =", '        p = json.loads((weights / "predictions.json").read_text())[n]\n        q ='),
        "infer.py does not predict what solution.py predicts: on the same withheld rows its log_loss is 1",
    ),
    "predicts other rows than those there": (
        """
import os, shutil
shutil.copy(os.environ["BOT_WEIGHTS"] + "/submission.csv", "submission.csv")
""",
        "infer.py failed in the dress rehearsal on 12 test rows: .*",
    ),
    "writes its file elsewhere": (
        INFER.replace('open("submission.csv"', 'open("/tmp/submission.csv"'),
        "infer.py wrote no submission.csv into its working folder",
    ),
}


async def test_what_is_wrong_with_a_notebook_is_found_before_kaggle_sees_it(tmp_path: Path) -> None:
    needs.bubblewrap()
    solution = SOLUTION + '\nimport shutil\nshutil.copy("submission.csv", "weights")\n'
    async with notebook_run(tmp_path, BubblewrapSandbox(), NotebookLimits(hours=8 / 2160)) as context:
        for node, (infer, _) in enumerate(WRONG.values(), 1):
            await score(context, node, infer, solution)
        tree, shown = load_tree(context), {}
        for (what, (_, said)), node in zip(WRONG.items(), tree.nodes, strict=True):
            found = attempt(context, node.id)
            print(what, node.state, found.error, sep="\n    ")
