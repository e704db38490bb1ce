"""What a lab leaves in its folder: plain files alone are seen, no more is read than allowed, and a copy is made alike."""

import os
from pathlib import Path

from bot.fleet.contents import FolderFile, FolderManifest
from bot.fleet.untrusted_folder import UntrustedFolder, make_alike


def filled(folder: Path) -> UntrustedFolder:
    (folder / "sub" / "empty").mkdir(parents=True)
    (folder / "sub" / "a").write_text("a")
    (folder / "large").write_bytes(b"x" * 2_000)
    return UntrustedFolder(folder)


def paths(manifest: FolderManifest) -> list[str]:
    return [one.path for one in manifest.files]


def test_links_are_neither_listed_nor_read(tmp_path: Path):
    foreign, folder = filled(tmp_path / "work"), tmp_path / "work"
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "labels").write_text("secret")
    (folder / "soft").symlink_to(tmp_path / "host" / "labels")
    (folder / "hard").hardlink_to(tmp_path / "host" / "labels")
    (folder / "place").symlink_to(tmp_path / "host")
    os.mkfifo(folder / "fifo")
    found = foreign.manifest()
    assert (paths(found), found.folders) == (["large", "sub/a"], ("sub", "sub/empty"))
    assert foreign.read("sub/a", 0, 10) == b"a"
    assert [foreign.read(one, 0, 10) for one in ("soft", "hard", "place/labels", "fifo", "gone")] == [b""] * 5


def test_large_files_are_named_and_no_more_is_read_than_allowed(tmp_path: Path):
    foreign = filled(tmp_path / "work")
    assert foreign.manifest(largest=1_000).files[0] == FolderFile("large", "", 2_000)
    with (tmp_path / "work" / "hole").open("wb") as file:
        file.truncate(10**12)
    assert paths(foreign.manifest(max_bytes=2_001)) == ["large", "sub/a"]
    assert paths(foreign.manifest(max_bytes=10)) == ["sub/a"]


def test_a_change_is_seen_though_its_time_is_set_back(tmp_path: Path):
    foreign = filled(tmp_path / "work")
    file, before = tmp_path / "work" / "sub" / "a", foreign.manifest()
    times = file.stat()
    file.write_text("b")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert foreign.manifest() != before


def test_a_copy_loses_what_is_not_there_and_links_first_of_all(tmp_path: Path):
    wanted = filled(tmp_path / "there").manifest()
    here = tmp_path / "here"
    filled(here)
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "kept").write_text("kept")
    (here / "old").mkdir()
    (here / "old" / "file").write_text("old")
    (here / "large").unlink()
    (here / "large").mkdir()
    for link in (here / "sub" / "empty", here / "link"):
        if link.is_dir():
            link.rmdir()
        link.symlink_to(tmp_path / "host")
    make_alike(here, wanted)
    assert sorted(str(one.relative_to(here)) for one in here.rglob("*")) == ["sub", "sub/a", "sub/empty"]
    assert not (here / "sub" / "empty").is_symlink()
    assert (tmp_path / "host" / "kept").read_text() == "kept"
