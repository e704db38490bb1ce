"""The unmodified `kaggle` command takes a notebook from its weights to a score on hidden rows."""

import json
from pathlib import Path

import pytest

from bot.simulator.site.settings import SiteSettings
from sandbox.bubblewrap import BubblewrapSandbox
from tests import needs
from tests.bot.simulator.site.parts import served, tiny
from tests.bot.simulator.site.test_kaggle_cli import CommandLine
from tests.bot.simulator.site.test_notebooks import INFER, WEIGHTS, notebook

pytestmark = pytest.mark.integration
NOTEBOOK = {
    "id": "rehearsal/best-one",
    "title": "Best one",
    "code_file": "best.ipynb",
    "language": "python",
    "kernel_type": "notebook",
    "is_private": True,
    "enable_internet": False,
    "competition_sources": ["tiny-table"],
    "dataset_sources": [WEIGHTS],
}


def write_weights(folder: Path, slope: float) -> None:
    folder.mkdir(exist_ok=True)
    facts = {"id": WEIGHTS, "title": "Bot weights", "licenses": [{"name": "other"}]}
    (folder / "dataset-metadata.json").write_text(json.dumps(facts))
    (folder / "model.txt").write_text(str(slope))


def test_it_takes_weights_and_a_notebook_to_a_score(tmp_path: Path) -> None:
    needs.bubblewrap()
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "best.ipynb").write_text(notebook(INFER))
    (tmp_path / "code" / "kernel-metadata.json").write_text(json.dumps(NOTEBOOK))
    write_weights(tmp_path / "weights", 0.2)
    snapshot = tiny(tmp_path)
    with served(snapshot, SiteSettings(kind="notebooks"), sandbox=BubblewrapSandbox()) as it:
        command = CommandLine(tmp_path, it)
        assert "is being created" in command.run("datasets", "create", "-p", "weights")
        assert "ready" not in command.run("datasets", "status", WEIGHTS)
        assert "not valid dataset sources" in command.run("kernels", "push", "-p", "code")
        it.clock.pass_by(minutes=10)
        assert "ready" in command.run("datasets", "status", WEIGHTS)
        assert "already in use" in command.run("datasets", "create", "-p", "weights")
        pushed = command.run("kernels", "push", "-p", "code")
        assert "version 2 successfully pushed" in pushed
        assert "not valid" not in pushed
        it.site.settle()
        it.clock.pass_by(hours=1)
        assert "COMPLETE" in command.run("kernels", "status", "rehearsal/best-one")
        command.run("kernels", "output", "rehearsal/best-one", "-p", "out")
        assert len((tmp_path / "out" / "submission.csv").read_text().splitlines()) == 7
        sent = ("-k", "rehearsal/best-one", "-v", "2", "-f", "submission.csv", "-m", "r-1")
        assert "Successfully submitted" in command.run("competitions", "submit", "tiny-table", *sent)
        it.settle()
        [scored] = command.rows("competitions", "submissions", "tiny-table")
        assert (scored["description"], scored["status"]) == ("r-1", "SubmissionStatus.COMPLETE")
        assert float(scored["publicScore"]) < 0.65  # guessing has 0.69
