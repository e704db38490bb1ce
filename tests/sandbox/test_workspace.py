"""Tests of the folders of one execution."""

from pathlib import Path

import pytest

from sandbox.workspace import fresh_workspace, remove_tree
from tests.sandbox.conftest import make_request


def test_the_folders_are_empty_before_and_gone_after(place: Path) -> None:
    with fresh_workspace(make_request(place, "print('ü')")) as workspace:
        assert list(workspace.work.iterdir()) == []
        assert list(workspace.tmp.iterdir()) == []
        assert workspace.script.read_text(encoding="utf-8") == "print('ü')"
        assert not workspace.script.is_relative_to(workspace.work)
    assert list((place / "out").iterdir()) == []
    assert not workspace.tmp.exists()


def test_they_are_gone_after_a_failure_too(place: Path) -> None:
    with pytest.raises(RuntimeError), fresh_workspace(make_request(place, "")) as workspace:
        raise RuntimeError
    assert not workspace.work.exists()


def test_a_script_that_is_no_proper_text_is_written_all_the_same(place: Path) -> None:
    with fresh_workspace(make_request(place, "x = '\udc80'")) as workspace:
        assert workspace.script.read_text() == "x = '?'"


@pytest.mark.integration
def test_folders_deeper_than_the_stack_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tree").mkdir()
    monkeypatch.chdir(tmp_path / "tree")
    for _ in range(1200):
        Path("d").mkdir()
        monkeypatch.chdir("d")
    monkeypatch.chdir(tmp_path)
    remove_tree(tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []
