"""Tests of taking kept files out of a folder."""

import os
import socket
from pathlib import Path

import pytest

from sandbox.collect import Collected, collect

NAME = "submission.csv"


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    out.mkdir()
    return work, out


def take(folders: tuple[Path, Path], cap: int = 1000) -> Collected:
    return collect(folders[0], [NAME, "other.csv"], folders[1], cap=cap)


def test_a_plain_file_is_copied_and_an_absent_one_is_not_mentioned(folders: tuple[Path, Path]) -> None:
    (folders[0] / NAME).write_text("id\n1\n")
    collected = take(folders)
    assert collected.kept == {NAME: folders[1] / NAME}
    assert collected.notes == []
    assert (folders[1] / NAME).read_text() == "id\n1\n"
    assert [path.name for path in folders[1].iterdir()] == [NAME]


def test_a_link_is_refused(folders: tuple[Path, Path]) -> None:
    (folders[0] / NAME).symlink_to("/etc/passwd")
    assert take(folders).notes == [f"{NAME} was not kept: it is a link"]
    assert list(folders[1].iterdir()) == []


def test_a_hard_link_is_refused(folders: tuple[Path, Path]) -> None:
    secret = folders[0].parent / "secret"
    secret.write_text("s")
    (folders[0] / NAME).hardlink_to(secret)
    assert take(folders).notes == [f"{NAME} was not kept: it is a hard link"]


def test_a_fifo_blocks_nobody(folders: tuple[Path, Path]) -> None:
    os.mkfifo(folders[0] / NAME)
    assert take(folders).notes == [f"{NAME} was not kept: it is no plain file but a FIFO"]


def test_a_folder_is_refused(folders: tuple[Path, Path]) -> None:
    (folders[0] / NAME).mkdir()
    assert take(folders).notes == [f"{NAME} was not kept: it is no plain file but a folder"]


def test_a_socket_is_refused(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folders[0])  # paths of sockets are short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(NAME)
        assert take(folders).notes == [f"{NAME} was not kept: it is no plain file but a socket"]


def test_a_large_file_is_refused_even_if_sparse(folders: tuple[Path, Path]) -> None:
    with (folders[0] / NAME).open("wb") as file:
        file.truncate(10**12)
    assert take(folders).notes == [f"{NAME} was not kept: its {10**12} bytes are more than the 1000 allowed"]
