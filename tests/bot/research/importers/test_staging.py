"""A snapshot gets its name once it is whole."""

from pathlib import Path

import pytest

from bot.research.importers.staging import importing_into, staging_folder
from state.errors import UsageError


def test_what_fails_leaves_nothing(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), staging_folder(tmp_path / "a") as folder:
        (folder / "file").write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_import_has_left_is_removed(tmp_path: Path):
    with staging_folder(tmp_path / "a") as folder:
        (folder / "file").write_text("half")
        with staging_folder(tmp_path / "a") as again:
            assert list(again.iterdir()) == []


def test_two_imports_do_not_write_into_one_folder(tmp_path: Path):
    refused = pytest.raises(UsageError, match="another import")
    with importing_into(tmp_path / "out"), refused, importing_into(tmp_path / "out"):
        pass
    with importing_into(tmp_path / "out"):
        pass


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write"), importing_into(tmp_path / "file/out"):
        pass
