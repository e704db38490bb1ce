"""Tests of fetching: over a real connection that breaks, answers wrongly or resumes."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.weights.download import Pin, download, open_client
from state.errors import DownloadFailed
from tests.bot.weights.file_server import FileServer

CONTENT = random.Random(1).randbytes(3_000_000)
PIN = Pin(len(CONTENT), hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer({"model.bin": CONTENT}) as server:
        yield server


def fetch(server: FileServer, target: Path, pin: Pin | None = PIN) -> list[float]:
    """Fetch the file; return how long it waited between its attempts."""
    waited: list[float] = []
    with open_client() as client:
        download(client, server.url("model.bin"), target, pin, lambda have: None, waited.append)
    return waited


def test_a_file_is_there_as_a_whole_and_readable_by_all(server: FileServer, tmp_path: Path) -> None:
    assert fetch(server, tmp_path / "m") == []
    assert (tmp_path / "m").read_bytes() == CONTENT
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_connection_that_breaks_is_gone_on_from(server: FileServer, tmp_path: Path) -> None:
    server.cut_after = [1_000_000, 700_000]
    assert fetch(server, tmp_path / "m") == [1.0, 2.0]
    assert (tmp_path / "m").read_bytes() == CONTENT
    assert server.ranges[0] == 0
    assert 0 < server.ranges[1] <= 1_000_000
    assert server.ranges[1] < server.ranges[2] <= 1_700_000


def test_what_a_killed_attempt_left_is_gone_on_from(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".m.part").write_bytes(CONTENT[:2_000_000])
    fetch(server, tmp_path / "m")
    assert server.ranges == [2_000_000]
    assert (tmp_path / "m").read_bytes() == CONTENT


def test_what_was_left_complete_is_not_fetched_again(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".m.part").write_bytes(CONTENT)
    fetch(server, tmp_path / "m")
    assert server.ranges == []


@pytest.mark.parametrize("left", [b"x" * 1000, b"x" * len(CONTENT), b"x" * (len(CONTENT) + 5)])
def test_a_part_of_something_else_is_thrown_away_and_all_fetched_anew(
    server: FileServer, tmp_path: Path, left: bytes
) -> None:
    (tmp_path / ".m.part").write_bytes(left)
    fetch(server, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == CONTENT
    assert server.ranges[-1] == 0


def test_a_server_without_ranges_sends_all_again(server: FileServer, tmp_path: Path) -> None:
    server.knows_ranges, server.cut_after = False, [1_000_000]
    fetch(server, tmp_path / "m")
    assert server.ranges == [0, 0]
    assert (tmp_path / "m").read_bytes() == CONTENT


def test_a_busy_server_is_asked_again(server: FileServer, tmp_path: Path) -> None:
    server.statuses = [503, 429]
    assert fetch(server, tmp_path / "m") == [1.0, 2.0]
    assert (tmp_path / "m").read_bytes() == CONTENT


def test_a_server_that_stays_away_is_given_up(server: FileServer, tmp_path: Path) -> None:
    server.statuses = [503] * 5
    with pytest.raises(DownloadFailed, match="in 5 attempts: the server answered 503"):
        fetch(server, tmp_path / "m")
    assert not (tmp_path / "m").exists()


def test_another_content_of_the_same_size_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.files["model.bin"] = CONTENT[:-1] + b"?"
    with pytest.raises(DownloadFailed, match="is not the file of the list"):
        fetch(server, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [CONTENT + b"more", CONTENT[:-1]])
def test_another_size_is_refused_before_anything_is_written(server: FileServer, tmp_path: Path, content: bytes) -> None:
    server.files["model.bin"] = content
    with pytest.raises(DownloadFailed, match=f"has {len(content)} bytes, not the {len(CONTENT)} of the list"):
        fetch(server, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_is_told_with_its_address(server: FileServer, tmp_path: Path) -> None:
    server.files.clear()
    with pytest.raises(DownloadFailed, match=r"model\.bin: the server answered 404"):
        fetch(server, tmp_path / "m")


def test_an_unpinned_file_is_taken_as_it_comes_but_never_in_parts_of_two(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".m.part").write_bytes(b"something else")
    fetch(server, tmp_path / "m", None)
    assert server.ranges == [0]
    assert (tmp_path / "m").read_bytes() == CONTENT
