"""A node's cache: what is whole has its name, what is used stays, and what was used longest ago goes first."""

import os
from pathlib import Path

import pytest

from bot.fleet import contents
from bot.fleet.contents import Contents, FolderManifest, NodeCache
from sandbox.settings import FleetSettings
from state.errors import UsageError


def made(folder: Path, **files: str) -> tuple[Path, FolderManifest]:
    """Return a folder with an empty one in it, and what it holds."""
    (folder / "empty").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder, Contents().manifest(folder)


def sent(cache: NodeCache, folder: Path, manifest: FolderManifest) -> list[str]:
    """Send what the cache lacks; return its digests."""
    lacking = cache.missing(entry.digest for entry in manifest.files)
    for entry in manifest.files:
        if entry.digest in lacking:
            content = (folder / entry.path).read_bytes()
            cache.write_piece(entry.digest, 0, content[:3], last=False)
            cache.write_piece(entry.digest, 3, content[3:], last=True)
    cache.make(manifest)
    return lacking


def test_a_folder_arrives_as_it_is_and_its_files_once(tmp_path):
    cache = NodeCache(tmp_path / "cache", 10**9)
    folder, manifest = made(tmp_path / "view", a="the same", b="the same", c="another")
    assert cache.use(manifest.digest) is None
    assert len(sent(cache, folder, manifest)) == 2
    assert Contents().manifest(cache.folder(manifest.digest)) == manifest
    assert cache.use(manifest.digest) is not None

    other, like = made(tmp_path / "fold", a="the same", c="a third")
    assert len(sent(cache, other, like)) == 1
    sent(cache, other, like)
    assert Contents().manifest(cache.folder(like.digest)) == like


def test_a_file_that_is_not_what_it_should_be_gets_no_name(tmp_path):
    cache = NodeCache(tmp_path / "cache", 10**9)
    _, manifest = made(tmp_path / "view", a="right")
    [entry] = manifest.files
    with pytest.raises(OSError, match="does not match its checksum"):
        cache.write_piece(entry.digest, 0, b"wrong", last=True)
    assert cache.missing([entry.digest]) == [entry.digest]
    with pytest.raises(FileNotFoundError):
        cache.make(manifest)
    assert cache.use(manifest.digest) is None


def test_what_was_used_longest_ago_goes_first_and_what_is_used_stays(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "_YOUNG", -1.0)
    cache = NodeCache(tmp_path / "cache", 2_500)
    folders = [made(tmp_path / f"view{number}", a=str(number) * 1_000) for number in range(4)]
    locks = []
    for number, (folder, manifest) in enumerate(folders):
        sent(cache, folder, manifest)
        lock = cache.use(manifest.digest)
        os.utime(lock.path, (number, number))
        locks.append(lock)
    for lock in locks[1:]:
        lock.release()
    cache.prune()
    there = [cache.folder(manifest.digest).is_dir() for _, manifest in folders]
    assert there == [True, False, False, True]
    assert len(cache.missing(entry.digest for _, manifest in folders for entry in manifest.files)) == 2


def test_a_change_of_a_file_is_another_content(tmp_path):
    found = Contents()
    folder, before = made(tmp_path / "view", a="one")
    assert found.manifest(folder) == before
    (folder / "a").write_text("other")
    assert found.manifest(folder).digest != before.digest


def test_an_address_is_auto_or_that_of_a_head_or_none():
    assert FleetSettings().at(None).address is None
    assert FleetSettings(address="auto").at("ray://head:10001").address == "ray://head:10001"
    assert FleetSettings(address="auto").at("none").address is None
    with pytest.raises(UsageError, match="must be `auto`"):
        FleetSettings().at("head:6379")
