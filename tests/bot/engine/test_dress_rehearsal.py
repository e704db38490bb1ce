"""The dress rehearsal of notebooks: what would fail on Kaggle, or take too long there, fails here with the reason."""

import json
from pathlib import Path

import pytest

from bot.engine.attempts import attempt, load_tree
from bot.engine.dress_rehearsal import REFUSED, rehearsed
from bot.evaluation.client.worker import Worker
from bot.notebooks.limits import NotebookLimits
from bot.notebooks.package import Package
from bot.submission.packing import made_package
from sandbox.bubblewrap import BubblewrapSandbox
from tests import needs
from tests.bot.engine.notebooks import INFER, SOLUTION, notebook_run, score
from tests.bot.engine.parts import RUN

@pytest.mark.asyncio
@pytest.mark.integration
async def test_a_notebook_that_predicts_what_its_script_predicts_passes_and_is_packed(tmp_path: Path) -> None:
    needs.bubblewrap()
    async with notebook_run(tmp_path, BubblewrapSandbox()) as context:
        await score(context, 1, INFER)
        found = await rehearsed(context, 1)
        print(found, attempt(context, 1))
        assert found.passed
