"""The page on importers: its toy makes a snapshot that is one, or none at all."""

import json
import shutil
from pathlib import Path

import pytest

from tests.extending.toys import Copy
from tests.tiny_snapshot import write_tiny


def plain_folder(folder: Path, tiny: Path) -> Path:
    """Write the tiny competition in the form that the page's importer reads."""
    folder.mkdir()
    sample, truth = tiny / "data" / "sample_submission.csv", tiny / "private" / "answers.csv"
    files = {"train": tiny / "data" / "train.csv", "test": tiny / "data" / "test.csv", "sample": sample, "truth": truth}
    for name, path in files.items():
        shutil.copyfile(path, folder / f"{name}.csv")
    about = json.loads((tiny / "snapshot.json").read_text(encoding="utf-8"))
    for name in ("format", "sha256"):
        del about[name]
    about |= {"scores": [0.4, 0.5], "description": "Tell label 1 from label 0."}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    return folder


@pytest.mark.integration
def test_an_importer_is_a_folder_and_a_line(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "importer.md")
    assert copy.touched == ["bot/research/importers/plain/__init__.py", "pyproject.toml"]
    copy.lint()
    plain = plain_folder(tmp_path / "plain", write_tiny(tmp_path / "tiny-table"))
    out = tmp_path / "out" / "tiny-table"
    assert "leaderboard: 2 teams" in copy.bot("snapshot", "import", "plain", plain, "--out", out)
    assert (out / "private" / "answers.csv").is_file()
    with pytest.raises(AssertionError, match="already exists"):
        copy.bot("snapshot", "import", "plain", plain, "--out", out)
    (plain / "about.json").write_text((plain / "about.json").read_text(encoding="utf-8").replace("log_loss", "no_such"))
    with pytest.raises(AssertionError, match="no_such"):
        copy.bot("snapshot", "import", "plain", plain, "--out", tmp_path / "out" / "another")
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if not path.name.startswith(".")) == ["tiny-table"]
