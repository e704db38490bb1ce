"""Tests of measuring what a script has written."""

import os
from pathlib import Path

import pytest

from sandbox.disk import DEEPEST, DiskUsage, folder_usage


def test_files_and_folders_are_counted_on_all_levels(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10_000)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b").write_bytes(b"x" * 10_000)
    usage = folder_usage(tmp_path, enough_files=100)
    assert usage.files == 3
    assert usage.bytes >= 20_000


def test_a_sparse_file_counts_for_what_it_takes(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1_000_000_000)
    assert folder_usage(tmp_path, enough_files=100).bytes < 1_000_000


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "host").symlink_to("/usr")
    assert folder_usage(tmp_path, enough_files=100).files == 1
    assert folder_usage(tmp_path / "host", enough_files=100) == DiskUsage()


def test_counting_stops_when_there_are_enough(tmp_path: Path) -> None:
    for i in range(50):
        (tmp_path / str(i)).touch()
    assert folder_usage(tmp_path, enough_files=10).files == 11


def test_folders_nested_too_deep_are_reported_and_not_climbed(tmp_path: Path) -> None:
    (tmp_path / "/".join("d" * (DEEPEST + 5))).mkdir(parents=True)
    assert folder_usage(tmp_path, enough_files=1000).too_deep


def test_a_folder_that_hides_its_content_is_opened(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads any folder")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "a").write_bytes(b"x" * 10_000)
    hidden.chmod(0o300)
    assert folder_usage(tmp_path, enough_files=100).bytes >= 10_000


def test_a_working_folder_that_is_closed_itself_is_opened(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads any folder")
    (tmp_path / "a").write_bytes(b"x" * 10_000)
    tmp_path.chmod(0o300)
    assert folder_usage(tmp_path, enough_files=100).bytes >= 10_000


def test_an_absent_folder_holds_nothing(tmp_path: Path) -> None:
    assert folder_usage(tmp_path / "none", enough_files=100) == DiskUsage()
