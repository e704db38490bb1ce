"""The notebook check: what would fail on Kaggle, or take too long there, fails here with the reason."""

import json
import re
import zipfile
from contextlib import aclosing
from pathlib import Path

import pytest

from bot.engine.attempts import attempt, load_tree
from bot.engine.notebook_check import check_notebook
from bot.evaluation.client.worker import Worker
from bot.notebooks.limits import NotebookLimits
from bot.notebooks.notebook import NotebookScript
from bot.notebooks.package import Package, write_package
from bot.submission.files import made_package
from sandbox.bubblewrap import BubblewrapSandbox
from state.errors import InvalidSubmission
from state.notebooks import NOTEBOOK_REFUSED
from tests import needs
from tests.bot.engine.notebooks import INFER, SOLUTION, notebook_run, score
from tests.bot.engine.parts import RUN

pytestmark = [pytest.mark.asyncio, pytest.mark.integration]

_THERE = "In this check the folder BOT_DATA contains"
_TEST = 'csv.DictReader(open(data / "test.csv"))'
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
        f"infer.py failed its local check on 12 test rows: .*IndexError: list index out of range. {_THERE}",
    ),
    "reads the training view by its path": (
        INFER.replace('Path(os.environ["BOT_DATA"])', 'Path("/solution/work/data")'),
        f"FileNotFoundError: .*'/solution/work/data/test.csv'. {_THERE}",
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
        INFER.replace("        p =", "        __import__('time').sleep(0.2)\n        p ="),
        r"infer.py is too slow: it took .* s for 12 test rows and .* s for 48, so 1\d\d s are expected for the 600 hidden "
        r"rows; at most 60 s are allowed \(60% of the limit of 0.0277778 h\)",
    ),
    "answers with what was predicted, in its order": (
        INFER.replace(f"for row in {_TEST}", f"for n, row in enumerate({_TEST})").replace(
            "        p =", '        p = json.loads((weights / "predictions.json").read_text())[n]\n        q ='
        ),
        "infer.py and solution.py predict differently: on the same validation rows, log_loss is 1.* for infer.py and "
        "0.389.* for solution.py",
    ),
    "copies the file that was predicted in training": (
        'import os, shutil\nshutil.copy(os.environ["BOT_WEIGHTS"] + "/submission.csv", "submission.csv")\n',
        "submission.csv, row 1: the id 'r0240' is not in the sample submission, whose 12 ids look like",
    ),
    "writes its file elsewhere": (
        INFER.replace('open("submission.csv"', 'open("/tmp/submission.csv"'),
        "infer.py wrote no submission.csv into its working folder",
    ),
}


async def test_what_is_wrong_with_a_notebook_is_found_before_kaggle_sees_it(tmp_path: Path) -> None:
    needs.bubblewrap()
    solution = SOLUTION + '\nimport shutil\nshutil.copy("submission.csv", "weights")\n'
    async with notebook_run(tmp_path, BubblewrapSandbox(), NotebookLimits(hours=100 / 3600)) as context:
        for node, (infer, _) in enumerate(WRONG.values(), 1):
            await score(context, node, infer, solution)
        refused = {e["node"]: e["reason"] for e in context.store.export_events(RUN) if e["type"] == NOTEBOOK_REFUSED}
        for node, (infer, said) in enumerate(WRONG.values(), 1):
            found = attempt(context, node)
            assert re.match(f"solution.py works, but .*{said}", found.error or ""), found.error
            assert (found.error or "").endswith(refused[node])
            assert (found.score, found.infer, load_tree(context)[node].state) == (None, infer, "buggy")


async def test_a_notebook_that_predicts_what_its_script_predicts_is_packed_with_weights_of_all_rows(
    tmp_path: Path,
) -> None:
    needs.bubblewrap()
    async with notebook_run(tmp_path, BubblewrapSandbox()) as context, aclosing(Worker()) as worker:
        await score(context, 1, INFER)
        found = await check_notebook(context, 1)
        assert found.passed
        own = attempt(context, 1).score
        assert own is not None and found.score == pytest.approx(own.value)
        assert 0 < found.seconds <= found.scaled
        assert found.rows == 600
        packed = await made_package(context, 1, worker, tmp_path / "packages")
        bytes_of = packed.file.read_bytes()
        assert await made_package(context, 1, worker, tmp_path / "packages") == packed
        package = Package.open(packed.file)
        assert (package.facts.runs, package.facts.weights_from) == ("infer", "refit")
        assert [one.path for one in package.facts.weights] == ["fold0/model.json", "predictions.json"]
        unpacked = package.unpack_weights(tmp_path / "unpacked")
        trained = context.executor.weights_of("n1-full-0") / "fold0" / "model.json"
        assert unpacked["w000.bin"].read_bytes() == trained.read_bytes()
        assert (
            trained.read_bytes() != (context.executor.weights_of("n1-holdout-0") / "fold0" / "model.json").read_bytes()
        )
        assert package.weights_slug in package.notebook("a mark")
        cells = json.loads(package.notebook("a mark"))["cells"]
        assert cells[0]["source"].startswith("# bot: a mark\n")
        assert INFER in cells[1]["source"]
        again = tmp_path / "again.zip"
        write_package(again, package.facts, _script_of(package), tmp_path / "unpacked")
        assert again.read_bytes() == bytes_of


async def test_without_a_second_script_the_notebook_trains_again_and_is_rehearsed_when_it_is_packed(
    tmp_path: Path,
) -> None:
    needs.bubblewrap()
    async with notebook_run(tmp_path, BubblewrapSandbox()) as context, aclosing(Worker()) as worker:
        await score(context, 1, None)
        assert load_tree(context)[1].valid
        package = Package.open((await made_package(context, 1, worker, tmp_path / "packages")).file)
        assert package.facts.runs == "train"
        assert [one.path for one in package.facts.weights] == ["sample_validation.csv", "validation.csv"]
        await score(context, 2, None, SOLUTION + "\nassert sum(1 for _ in open('data/test.csv')) == 61\n")
        with pytest.raises(InvalidSubmission, match=r"solution.py failed its local check on 12 test rows: .*Assert"):
            await made_package(context, 2, worker, tmp_path / "packages")


def _script_of(package: Package) -> NotebookScript:
    return NotebookScript(INFER, False, package.facts.competition, package.facts.weights, NotebookLimits().seconds)


async def test_wheels_go_with_the_weights_and_its_script_imports_from_them(tmp_path: Path) -> None:
    needs.bubblewrap()
    (wheels := tmp_path / "wheels").mkdir()
    with zipfile.ZipFile(wheels / "halving-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("halving/__init__.py", "SHARE = 0.5\n")
    limits = NotebookLimits(wheels=wheels)
    assert limits.packages == ("halving 1.2",)
    imports = "from halving import SHARE\nassert SHARE == 0.5\n"
    async with notebook_run(tmp_path, BubblewrapSandbox(), limits) as context, aclosing(Worker()) as worker:
        await score(context, 1, imports + INFER)
        assert (await check_notebook(context, 1)).reason is None
        packed = await made_package(context, 1, worker, tmp_path / "packages")
    package = Package.open(packed.file)
    assert [one.path for one in package.facts.weights][-1] == ".wheels/halving-1.2-py3-none-any.whl"
    unpacked = package.unpack_weights(tmp_path / "unpacked")
    assert zipfile.is_zipfile(list(unpacked.values())[-1])
