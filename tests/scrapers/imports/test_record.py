"""By what an import knows its own work again."""

import json
from pathlib import Path

import pytest

from scrapers.imports.record import RECORD, ImportRecord, digest, files_digest, read_record


def test_a_record_is_read_back(tmp_path: Path):
    record = ImportRecord("mle-live", digest([1, "a"]), files_digest(tmp_path), {"rows": 3})
    record.write(tmp_path)
    assert read_record(tmp_path) == record
    assert files_digest(tmp_path) == record.left, "the record itself does not count"


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"importer": 1, "inputs": "", "left": "", "came": {}}', "[" * 5000]
)
def test_what_is_no_record_is_none(tmp_path: Path, content: str):
    assert read_record(tmp_path) is None
    (tmp_path / RECORD).write_text(content)
    assert read_record(tmp_path) is None


def test_a_record_with_unknown_fields_is_none(tmp_path: Path):
    ImportRecord("mle-live", "", "", {}).write(tmp_path)
    content = json.loads((tmp_path / RECORD).read_text())
    (tmp_path / RECORD).write_text(json.dumps(content | {"more": 1}))
    assert read_record(tmp_path) is None


def test_the_digest_of_files_tells_every_change(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/a").write_text("one")
    seen = {files_digest(tmp_path)}
    (tmp_path / "folder/a").write_text("three")
    seen.add(files_digest(tmp_path))
    (tmp_path / "folder/b").write_text("")
    seen.add(files_digest(tmp_path))
    (tmp_path / "folder/b").rename(tmp_path / "folder/c")
    seen.add(files_digest(tmp_path))
    (tmp_path / "folder/c").unlink()
    (tmp_path / "folder/c").symlink_to("a")
    seen.add(files_digest(tmp_path))
    assert len(seen) == 5
