"""Files of unknown encoding, and what is no file at all."""

import os
from pathlib import Path

import pytest

from bot.research.importers.mle_live.info import Decoded, Unread, read_text

TEXT = "# Grüße\nan alle"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_text_is_read_whatever_unicode_it_is_written_in(tmp_path: Path, encoding: str):
    (tmp_path / "a.txt").write_bytes(TEXT.replace("\n", "\r\n").encode(encoding))
    assert read_text(tmp_path, "a.txt") == Decoded(TEXT, guessed=False)


def test_what_is_not_utf_8_is_read_as_windows_writes_it_and_says_so(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode("cp1252"))
    assert read_text(tmp_path, "a.txt") == Decoded(TEXT, guessed=True)


def test_bytes_that_no_encoding_has_are_replaced(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"a\x81\xffb")
    read = read_text(tmp_path, "a.txt")
    assert isinstance(read, Decoded)
    assert read.text == "a\ufffd\xffb"


def test_a_missing_file_a_folder_a_pipe_and_a_link_out_of_the_folder_are_not_read(tmp_path: Path):
    folder = tmp_path / "in"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to("../secret.txt")
    (folder / "folder.txt").mkdir()
    os.mkfifo(folder / "pipe.txt")
    assert read_text(folder, "none.txt") == Unread("whose file is missing")
    for name in ("link.txt", "folder.txt", "pipe.txt"):
        assert read_text(folder, name) == Unread("whose file is not a regular file in its folder")


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path):
    (tmp_path / "a.txt").write_bytes(b"x" * 1_000_001)
    assert read_text(tmp_path, "a.txt", 1_000_000) == Unread("whose file is larger than 1 MB")
