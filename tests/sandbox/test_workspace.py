"""The folders of one execution: fresh, measured, and only plain files are taken out."""

import os
import socket
from pathlib import Path

import pytest

from sandbox.collect import OutputFiles, collect
from sandbox.disk import DEEPEST, DiskUsage, folder_usage
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


NAME = "submission.csv"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    out.mkdir()
    return work, out


def take(folders: tuple[Path, Path], cap: int = 1000) -> OutputFiles:
    return collect(folders[0], [NAME, "other.csv"], folders[1], cap=cap)


def test_a_plain_file_is_copied_and_an_absent_one_is_not_mentioned(folders: tuple[Path, Path]) -> None:
    (folders[0] / NAME).write_text("id\n1\n")
    collected = take(folders)
    assert collected.files == {NAME: folders[1] / NAME}
    assert collected.notes == []
    assert (folders[1] / NAME).read_text() == "id\n1\n"
    assert [path.name for path in folders[1].iterdir()] == [NAME]


def test_a_link_is_refused(folders: tuple[Path, Path]) -> None:
    (folders[0] / NAME).symlink_to("/etc/passwd")
    assert take(folders).notes == [f"{NAME} was not kept: it is a symbolic link"]
    assert list(folders[1].iterdir()) == []


def test_a_hard_link_is_refused(folders: tuple[Path, Path]) -> None:
    secret = folders[0].parent / "secret"
    secret.write_text("s")
    (folders[0] / NAME).hardlink_to(secret)
    assert take(folders).notes == [f"{NAME} was not kept: it is a hard link"]


def test_a_fifo_blocks_nobody(folders: tuple[Path, Path]) -> None:
    os.mkfifo(folders[0] / NAME)
    assert take(folders).notes == [f"{NAME} was not kept: it is a FIFO, not a regular file"]


def test_a_folder_is_refused(folders: tuple[Path, Path]) -> None:
    (folders[0] / NAME).mkdir()
    assert take(folders).notes == [f"{NAME} was not kept: it is a folder, not a regular file"]


def test_a_socket_is_refused(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders[0])  # paths of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(NAME)
        assert take(folders).notes == [f"{NAME} was not kept: it is a socket, not a regular file"]


def test_a_large_file_is_refused_even_if_sparse(folders: tuple[Path, Path]) -> None:
    with (folders[0] / NAME).open("wb") as file:
        file.truncate(10**12)
    assert take(folders).notes == [f"{NAME} was not kept: it has {10**12} bytes; the limit is 1000"]
