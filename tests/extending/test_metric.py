"""The page on metrics: its toy scores, and grades a submission."""

import json
from pathlib import Path

import pytest

from tests.extending.toys import Copy
from tests.tiny_snapshot import write_tiny


@pytest.mark.integration
def test_a_metric_is_a_formula_and_an_entry(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "metric.md")
    assert copy.touched == ["bot/evaluation/metrics/errors.py", "bot/evaluation/metrics/registry.py"]
    copy.lint()
    tiny = write_tiny(tmp_path / "tiny-table")
    manifest = json.loads((tiny / "snapshot.json").read_text(encoding="utf-8"))
    manifest["metric"]["name"] = "max_error"
    (tiny / "snapshot.json").write_text(json.dumps(manifest), encoding="utf-8")
    graded = json.loads(copy.bot("grade", tiny, tiny / "data" / "sample_submission.csv", "--json"))
    assert graded["score"] == 0.5
