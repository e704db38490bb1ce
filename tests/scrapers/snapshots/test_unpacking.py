"""Tests of unpacking foreign zips: whatever they hold, nothing lies outside, and faults are reported."""

import io
import stat
import struct
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from scrapers.http.download import Pin
from scrapers.snapshots.unpacking import ZipExtractor
from state.errors import DownloadFailed, NoRoom

Member = tuple[str | zipfile.ZipInfo, bytes]


def pack(members: Sequence[Member], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that occur twice are on purpose
        with zipfile.ZipFile(content, "w", method) as archive:
            for name, data in members:
                archive.writestr(name, data)
    return content.getvalue()


def special(name: str, mode: int) -> zipfile.ZipInfo:
    """Return a member that is a link, a device or a pipe."""
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


def unpack(folder: Path, archive: bytes, spare: int = 0) -> dict[str, Pin]:
    (folder / "a.zip").write_bytes(archive)
    (folder / "out").mkdir()
    return ZipExtractor("the zip", folder / "a.zip", folder / "out", spare=spare).run()


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_members_are_there_with_their_hashes_and_read_only(tmp_path: Path) -> None:
    found = unpack(tmp_path, pack([("a/b/c.csv", b"x"), ("empty", b""), ("a/d/", b""), ("Ünï.txt", b"y")]))
    assert names(tmp_path / "out") == sorted(found) == ["a/b/c.csv", "empty", "Ünï.txt"]
    assert found["a/b/c.csv"] == Pin(1, "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881")
    assert (tmp_path / "out" / "empty").stat().st_mode & 0o777 == 0o444
    assert (tmp_path / "out" / "a" / "d").is_dir()


@pytest.mark.parametrize(
    ("member", "what"),
    [
        ("../evil", "'../evil', which points outside its folder"),
        ("a/../../evil", "points outside"),
        ("/etc/evil", "points outside"),
        ("..\\evil", "points outside"),
        ("C:/evil", "points outside"),
        ("a\nb", "control characters"),
        ("/".join("a" * 50), "nested too deeply"),
        (special("link", stat.S_IFLNK | 0o777), "'link', which is not a regular file"),
        (special("pipe", stat.S_IFIFO | 0o644), "which is not a regular file"),
        (special("disk", stat.S_IFBLK | 0o644), "which is not a regular file"),
        ("good.csv", "'good.csv' twice"),
        ("./good.csv", "twice"),
    ],
)
def test_a_zip_with_one_bad_member_is_not_unpacked_at_all(tmp_path, member, what) -> None:
    with pytest.raises(DownloadFailed, match=rf"the zip contains .*{what}.*: nothing was unpacked"):
        unpack(tmp_path, pack([("good.csv", b"x"), (member, b"/etc/passwd"), ("other", b"z")]))
    assert names(tmp_path) == ["a.zip"]


def test_of_many_bad_members_some_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        DownloadFailed, match=r"'../1'.*'../2'.*'../3', which points outside its folder, and 7 more: nothing"
    ):
        unpack(tmp_path, pack([(f"../{number}", b"") for number in range(1, 11)]))


@pytest.mark.parametrize("members", [[("a", b"1"), ("a/b", b"2")], [("a/b", b"2"), ("a", b"1")], [("n" * 300, b"")]])
def test_names_that_cannot_be_side_by_side_are_what(tmp_path: Path, members: list[Member]) -> None:
    with pytest.raises(
        DownloadFailed, match=r"the zip cannot be unpacked: .*(exists|Not a directory|Is a directory|too long)"
    ):
        unpack(tmp_path, pack(members))


def test_names_that_differ_in_capitals_are_two_files_or_an_error_but_never_one(tmp_path: Path) -> None:
    try:
        found = unpack(tmp_path, pack([("A.csv", b"1"), ("a.csv", b"2")]))
    except DownloadFailed:
        return
    assert set(found) == {"A.csv", "a.csv"}
    assert [(tmp_path / "out" / name).read_bytes() for name in ("A.csv", "a.csv")] == [b"1", b"2"]


def test_a_wrong_checksum_is_what(tmp_path: Path) -> None:
    archive = bytearray(pack([("a.csv", b"hello, hello")], zipfile.ZIP_STORED))
    archive[archive.index(b"hello")] = ord("j")
    with pytest.raises(DownloadFailed, match=r"cannot be unpacked: Bad CRC-32 for file 'a.csv'"):
        unpack(tmp_path, bytes(archive))


def test_a_member_longer_than_declared_is_not_read_to_its_end(tmp_path: Path) -> None:
    archive = bytearray(pack([("a.csv", b"x" * 100_000)]))
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = archive.index(signature) + place
        archive[at : at + 4] = struct.pack("<I", 10)
    with pytest.raises(DownloadFailed, match=r"cannot be unpacked: Bad CRC-32"):
        unpack(tmp_path, bytes(archive))
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) <= 10


def test_a_bomb_is_refused_by_its_declared_size(tmp_path: Path) -> None:
    archive = bytearray(pack([("a.csv", b"x" * 100_000)]))
    at = archive.index(b"PK\x01\x02") + 24
    archive[at : at + 4] = struct.pack("<I", 0xFFFFFFF0)
    with pytest.raises(DownloadFailed, match=r"the zip would grow from .* to 17,179,869,120 bytes"):
        unpack(tmp_path, _repeated(bytes(archive), 4))
    assert names(tmp_path / "out") == []


def _repeated(archive: bytes, times: int) -> bytes:
    """Return a zip whose directory names its member that often, each time under another name."""
    start, end = archive.index(b"PK\x01\x02"), archive.index(b"PK\x05\x06")
    entry, tail = archive[start:end], bytearray(archive[end:])
    entries = b"".join(entry.replace(b"a.csv", b"%d.csv" % number) for number in range(times))
    tail[8:16] = struct.pack("<HHI", times, times, len(entries))
    return archive[:start] + entries + bytes(tail)


def test_an_encrypted_member_is_what(tmp_path: Path) -> None:
    archive = bytearray(pack([("a.csv", b"x")]))
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        archive[archive.index(signature) + place] |= 1
    with pytest.raises(DownloadFailed, match=r"encrypted"):
        unpack(tmp_path, bytes(archive))


def test_what_is_no_zip_is_what(tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match=r"cannot be unpacked: File is not a zip file"):
        unpack(tmp_path, b"<html>")


def test_what_does_not_fit_on_the_disk_is_what_before(tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match=r"the zip unpacks to 1 bytes and"):
        unpack(tmp_path, pack([("a", b"x")]), spare=10**15)
    assert names(tmp_path / "out") == []


def test_what_a_mac_adds_is_left_out(tmp_path: Path) -> None:
    unpack(tmp_path, pack([("a.csv", b"x"), ("__MACOSX/._a.csv", b"?"), ("b/.DS_Store", b"?")]))
    assert names(tmp_path / "out") == ["a.csv"]


@pytest.mark.parametrize(
    ("inner", "there"),
    [
        ([("train.csv", b"id\n")], ["deep/train.csv"]),
        ([("data/train.csv", b"id\n"), ("__MACOSX/x", b"")], ["deep/train.csv"]),
        ([("train.csv", b"id\n"), ("more.csv", b"id\n")], ["deep/in.zip"]),
        ([("train.json", b"{}")], ["deep/in.zip"]),
        ([("train.csv.gz", b"?")], ["deep/in.zip"]),
        ([("../train.csv", b"id\n")], ["deep/in.zip"]),
        ([(special("train.csv", stat.S_IFLNK | 0o777), b"/etc/passwd")], ["deep/in.zip"]),
        ([], ["deep/in.zip"]),
    ],
)
def test_a_table_takes_the_place_of_a_zip_that_holds_nothing_else(tmp_path, inner, there) -> None:
    found = unpack(tmp_path, pack([("deep/in.zip", pack(inner))]))
    assert names(tmp_path / "out") == sorted(found) == there


def test_a_table_never_takes_the_place_of_another(tmp_path: Path) -> None:
    unpack(tmp_path, pack([("a.csv", b"outer"), ("a.zip", pack([("a.csv", b"inner")]))]))
    assert names(tmp_path / "out") == ["a.csv", "a.zip"]
    assert (tmp_path / "out" / "a.csv").read_bytes() == b"outer"


def test_a_broken_zip_within_stays(tmp_path: Path) -> None:
    unpack(tmp_path, pack([("a.zip", b"is not a readable zip")]))
    assert names(tmp_path / "out") == ["a.zip"]


def test_it_ends_when_it_is_what_to(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(pack([("a", b"x")]))
    (tmp_path / "out").mkdir()
    with pytest.raises(DownloadFailed, match=r"cancelled"):
        ZipExtractor("the zip", tmp_path / "a.zip", tmp_path / "out", stopped=lambda: True, spare=0).run()


def test_the_table_of_a_zip_within_leaves_the_room_that_must_stay_free(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(pack([("train.csv.zip", pack([("train.csv", b"id\n" * 1_000)])), ("b.csv", b"x")]))
    (tmp_path / "out").mkdir()
    work = ZipExtractor("the zip", tmp_path / "a.zip", tmp_path / "out", spare=0)

    def others_fill_the_disk(done: int, total: int) -> None:
        work.spare = 10**15

    work.progress = others_fill_the_disk
    with pytest.raises(NoRoom, match=r"unpacks to 3,000 bytes and 1,000,000,000,000,000 must stay free"):
        work.run()
    assert names(tmp_path / "out") == ["b.csv", "train.csv.zip"]
