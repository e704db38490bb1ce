"""Tests of fetching: over a real connection that breaks, stalls, answers wrongly or resumes."""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from scrapers.http.download import Download, Pin, public_opener
from state.errors import DownloadFailed
from tests.file_server import FileServer

CONTENT = random.Random(1).randbytes(3_000_000)
OTHER = random.Random(2).randbytes(3_000_000)
PIN = Pin(len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
SILENCE = 0.3


@pytest.fixture
def server() -> Iterator[FileServer]:
    with FileServer({"model.bin": CONTENT}) as server:
        yield server


@pytest.fixture
def versioned(server: FileServer) -> FileServer:
    """A server that states the version of its file."""
    server.etags["model.bin"] = '"one"'
    return server


async def fetch(
    server: FileServer,
    target: Path,
    pin: Pin | None = PIN,
    *,
    address: Callable[[], Awaitable[str]] | None = None,
    progress: Callable[[int, int | None], None] = lambda have, total: None,
    spare: int = 0,
) -> list[float]:
    """Fetch the file; return how long it waited between its attempts."""
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    async def lies() -> str:
        return server.url("model.bin")

    async with public_opener(SILENCE) as open_:
        download = Download("model.bin", address or lies, target, open_, pin, progress, spare, wait)
        found = await download.run()
        assert found == Pin(target.stat().st_size, hashlib.sha256(target.read_bytes()).hexdigest())
    return waited


async def test_a_file_is_there_as_a_whole_and_readable_by_all(server: FileServer, tmp_path: Path) -> None:
    assert await fetch(server, tmp_path / "m") == []
    assert (tmp_path / "m").read_bytes() == CONTENT
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


@pytest.mark.parametrize("pin", [PIN, None], ids=["pinned", "as it comes"])
async def test_a_connection_that_breaks_is_gone_on_from(versioned: FileServer, tmp_path: Path, pin: Pin | None) -> None:
    versioned.cut_after = [1_500_000, 400_000]
    assert await fetch(versioned, tmp_path / "m", pin) == [1.0, 1.0]
    assert (tmp_path / "m").read_bytes() == CONTENT
    assert versioned.ranges[0] == 0
    assert 0 < versioned.ranges[1] <= 1_500_000
    assert versioned.ranges[1] < versioned.ranges[2] <= 1_900_000
    assert versioned.conditions == ["", '"one"', '"one"']
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


async def test_a_server_that_falls_silent_is_left_and_gone_on_from(versioned: FileServer, tmp_path: Path) -> None:
    versioned.stall_after = [1_200_000]
    assert await fetch(versioned, tmp_path / "m", None) == [1.0]
    assert (tmp_path / "m").read_bytes() == CONTENT
    assert versioned.ranges[1] > 0


async def test_a_part_of_an_older_version_is_thrown_away(versioned: FileServer, tmp_path: Path) -> None:
    versioned.cut_after = [1_500_000]
    versioned.statuses = [0, 503, 503, 503, 503, 503]
    with pytest.raises(DownloadFailed):
        await fetch(versioned, tmp_path / "m", None)
    assert (tmp_path / ".m.part").stat().st_size > 0, "what came is kept"
    versioned.files["model.bin"], versioned.etags["model.bin"] = OTHER, '"two"'
    await fetch(versioned, tmp_path / "m", None)
    assert (tmp_path / "m").read_bytes() == OTHER


async def test_a_server_that_changes_its_file_and_ignores_conditions_is_found_out(versioned, tmp_path) -> None:
    versioned.cut_after = [1_500_000]
    versioned.heeds_if_range = False

    def change(have: int, total: int | None) -> None:
        if versioned.etags["model.bin"] == '"one"' and have > 1_000_000:
            versioned.files["model.bin"], versioned.etags["model.bin"] = OTHER, '"two"'

    await fetch(versioned, tmp_path / "m", None, progress=change)
    assert (tmp_path / "m").read_bytes() == OTHER
    assert versioned.ranges[-1] == 0


async def test_a_time_of_change_serves_where_there_is_no_etag(server: FileServer, tmp_path: Path) -> None:
    server.modified, server.cut_after = "Fri, 20 Nov 2026 10:00:00 GMT", [1_500_000]
    await fetch(server, tmp_path / "m", None)
    assert server.conditions == ["", "Fri, 20 Nov 2026 10:00:00 GMT"]
    assert (tmp_path / "m").read_bytes() == CONTENT


@pytest.mark.parametrize("etag", ["", 'W/"weak"'])
async def test_without_a_version_an_unpinned_file_is_fetched_anew(server, tmp_path, etag) -> None:
    server.etags["model.bin"], server.cut_after = etag, [1_500_000]
    await fetch(server, tmp_path / "m", None)
    assert server.ranges == [0, 0]
    assert (tmp_path / "m").read_bytes() == CONTENT


async def test_a_range_that_begins_elsewhere_is_not_put_together(versioned: FileServer, tmp_path: Path) -> None:
    versioned.cut_after, versioned.shift = [1_500_000], 7
    await fetch(versioned, tmp_path / "m", None)
    assert versioned.ranges[-1] == 0
    assert (tmp_path / "m").read_bytes() == CONTENT


async def test_a_cancelled_fetch_goes_on_where_it_was(versioned: FileServer, tmp_path: Path) -> None:
    versioned.stall_after = [1_200_000]
    came = asyncio.Event()

    def notice(have: int, total: int | None) -> None:
        came.set()

    task = asyncio.create_task(fetch(versioned, tmp_path / "m", None, progress=notice))
    await came.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await fetch(versioned, tmp_path / "m", None)
    assert versioned.ranges[0] == 0
    assert versioned.ranges[1] > 0
    assert (tmp_path / "m").read_bytes() == CONTENT


async def test_a_fetch_that_was_killed_before_its_first_byte_mixes_nothing(versioned, tmp_path) -> None:
    (tmp_path / ".m.part").write_bytes(b"")
    (tmp_path / ".m.part.json").write_text('{"etag": "\\"one\\"", "modified": "", "total": 3000000}')
    await fetch(versioned, tmp_path / "m", None)
    assert (tmp_path / "m").read_bytes() == CONTENT


@pytest.mark.parametrize("note", ["", "{", "[]", '{"etag": 1}', '{"etag": "x"}'])
async def test_a_broken_note_counts_as_none(versioned: FileServer, tmp_path: Path, note: str) -> None:
    (tmp_path / ".m.part").write_bytes(b"something else")
    (tmp_path / ".m.part.json").write_text(note)
    await fetch(versioned, tmp_path / "m", None)
    assert versioned.ranges == [0]
    assert (tmp_path / "m").read_bytes() == CONTENT


async def test_what_a_killed_attempt_left_is_gone_on_from(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".m.part").write_bytes(CONTENT[:2_000_000])
    await fetch(server, tmp_path / "m")
    assert server.ranges == [2_000_000]
    assert (tmp_path / "m").read_bytes() == CONTENT


async def test_what_was_left_complete_is_not_fetched_again(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / ".m.part").write_bytes(CONTENT)
    await fetch(server, tmp_path / "m")
    assert server.ranges == []


@pytest.mark.parametrize("left", [b"x" * 1000, b"x" * len(CONTENT), b"x" * (len(CONTENT) + 5)])
async def test_a_part_of_something_else_is_thrown_away_and_all_fetched_anew(server, tmp_path, left) -> None:
    (tmp_path / ".m.part").write_bytes(left)
    await fetch(server, tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == CONTENT
    assert server.ranges[-1] == 0


async def test_a_server_without_ranges_sends_all_again(versioned: FileServer, tmp_path: Path) -> None:
    versioned.knows_ranges, versioned.cut_after = False, [1_000_000]
    await fetch(versioned, tmp_path / "m", None)
    assert versioned.ranges == [0, 0]
    assert (tmp_path / "m").read_bytes() == CONTENT


async def test_a_server_that_always_breaks_off_at_the_same_place_is_given_up(server, tmp_path) -> None:
    server.knows_ranges, server.cut_after = False, [1_000_000] * 20
    with pytest.raises(DownloadFailed, match="in 5 attempts"):
        await fetch(server, tmp_path / "m", None)
    assert len(server.ranges) == 6, "the first one was not in vain"


async def test_a_busy_server_is_asked_again(server: FileServer, tmp_path: Path) -> None:
    server.statuses = [503, 429]
    assert await fetch(server, tmp_path / "m") == [1.0, 2.0]
    assert (tmp_path / "m").read_bytes() == CONTENT


async def test_a_server_that_stays_away_is_given_up(server: FileServer, tmp_path: Path) -> None:
    server.statuses = [503] * 5
    with pytest.raises(DownloadFailed, match="in 5 attempts: the server returned status 503"):
        await fetch(server, tmp_path / "m")
    assert not (tmp_path / "m").exists()


async def test_an_address_that_has_expired_is_asked_for_again(versioned: FileServer, tmp_path: Path) -> None:
    versioned.cut_after, versioned.statuses = [1_500_000], [0, 403]
    asked: list[str] = []

    async def address() -> str:
        asked.append("once more")
        return versioned.url(f"model.bin?signature={len(asked)}")

    await fetch(versioned, tmp_path / "m", None, address=address)
    assert len(asked) == 2
    assert versioned.ranges[-1] > 0
    assert (tmp_path / "m").read_bytes() == CONTENT


async def test_another_content_of_the_same_size_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.files["model.bin"] = CONTENT[:-1] + b"?"
    with pytest.raises(DownloadFailed, match="is not the listed file"):
        await fetch(server, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [CONTENT + b"more", CONTENT[:-1]])
async def test_another_size_is_refused_before_anything_is_written(server, tmp_path, content) -> None:
    server.files["model.bin"] = content
    with pytest.raises(DownloadFailed, match=f"has {len(content)} bytes, but the list says {len(CONTENT)}"):
        await fetch(server, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


async def test_a_missing_file_is_reported_with_its_name(server: FileServer, tmp_path: Path) -> None:
    server.files.clear()
    with pytest.raises(DownloadFailed, match=r"model\.bin: the server returned status 404"):
        await fetch(server, tmp_path / "m")


async def test_what_comes_encoded_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.encoding = "gzip"
    with pytest.raises(DownloadFailed, match="encoding"):
        await fetch(server, tmp_path / "m", None)


async def test_a_full_disk_is_reported_before_anything_is_written(server: FileServer, tmp_path: Path) -> None:
    with pytest.raises(
        DownloadFailed, match=r"3,000,000 more bytes are needed and 1,999,999,999,999,999 must stay free"
    ):
        await fetch(server, tmp_path / "m", spare=1_999_999_999_999_999)
    assert list(tmp_path.iterdir()) == []


async def test_a_file_of_unknown_length_is_taken_as_it_comes(server: FileServer, tmp_path: Path) -> None:
    server.says_length = False
    reported: list[tuple[int, int | None]] = []
    await fetch(server, tmp_path / "m", None, progress=lambda have, total: reported.append((have, total)))
    assert (tmp_path / "m").read_bytes() == CONTENT
    assert reported[-1] == (len(CONTENT), None)
