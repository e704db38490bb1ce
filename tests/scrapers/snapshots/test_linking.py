"""A folder's files in a second place."""

from pathlib import Path

from scrapers.snapshots.linking import link_files


def everything(_: str) -> bool:
    return True


def test_files_are_linked_and_not_copied_where_that_can_be(tmp_path: Path):
    source, target = tmp_path / "a", tmp_path / "b"
    (source / "deep/er").mkdir(parents=True)
    target.mkdir()
    (source / "deep/er/file").write_text("text")
    (source / "left").write_text("left")
    seen: list[int] = []
    link_files(source, target, lambda name: name != "left", seen.append)
    assert (target / "deep/er/file").samefile(source / "deep/er/file")
    assert not (target / "left").exists()
    assert seen == [1, 2]


def test_links_within_the_folder_become_files_and_others_stay_links(tmp_path: Path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    (source / "file").write_text("text")
    (source / "inside").symlink_to(source / "file")
    (source / "outside").symlink_to("/etc/hostname")
    (source / "nowhere").symlink_to("gone")
    link_files(source, target, everything, lambda _: None)
    assert (target / "inside").samefile(source / "file")
    assert not (target / "inside").is_symlink()
    assert str((target / "outside").readlink()) == "/etc/hostname"
    assert (target / "nowhere").is_symlink()


def test_a_file_that_cannot_be_linked_is_copied(tmp_path: Path):
    # A name that is there already is one of the reasons for which a link fails.
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    (source / "file").write_text("text")
    (target / "file").write_text("older")
    link_files(source, target, everything, lambda _: None)
    assert (target / "file").read_text() == "text"
    assert not (target / "file").samefile(source / "file")
