"""Which relative names stay inside a folder."""

from pathlib import Path

import pytest

from scrapers.snapshots.files import escapes, resolve_inside


@pytest.mark.parametrize("name", ["", "/", "/etc/passwd", "..", "../a", "a/../../b", "..\\a", "a/\0b", "."])
def test_names_that_leave_the_folder_or_mean_none_are_never_resolved(tmp_path: Path, name: str) -> None:
    assert resolve_inside(tmp_path, name) is None


@pytest.mark.parametrize("name", ["a.py", "kernels/a.py", "kernels/..a.py", "a b/c:d.R"])
def test_plain_names_do_not_escape(name: str) -> None:
    assert not escapes(name)


def test_a_link_inside_is_followed_and_one_that_leads_out_is_not(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (root / "file").write_text("f", encoding="utf-8")
    (root / "good").symlink_to("file")
    (root / "bad").symlink_to("../secret")
    assert resolve_inside(root, "good") == root / "good"
    assert resolve_inside(root, "bad") is None
    assert resolve_inside(root, "none") is None
