import json

import pytest
from typer.testing import CliRunner

from bot.cli import app
from tests.tiny_snapshot import write_tiny

LABELLED = "tiny-table"


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("snapshots")
    write_tiny(folder / LABELLED)
    return folder


def bot(*arguments):
    return CliRunner().invoke(app, ["grade", *map(str, arguments)], catch_exceptions=True)


@pytest.mark.integration
def test_one_file_is_graded_against_one_snapshot(snapshots, tmp_path):
    sample = snapshots / LABELLED / "data/sample_submission.csv"
    done = bot(snapshots / LABELLED, sample, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["score"] == 0.69315
    (tmp_path / "page.csv").write_text("<html>")
    done = bot(snapshots / LABELLED, tmp_path / "page.csv")
    assert done.exit_code == 1 and "invalid submission: page.csv lacks the columns" in done.stdout
