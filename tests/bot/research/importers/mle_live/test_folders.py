"""Where the competitions of an MLE-Live folder lie."""

from pathlib import Path

import pytest

from bot.research.importers.mle_live.folders import CompetitionFolder, find_competitions


def make(root: Path, *folders: str) -> Path:
    for folder in folders:
        (root / folder).mkdir(parents=True)
    return root


def test_the_newer_layout(tmp_path: Path):
    root = make(tmp_path, "b/kernels", "a/discussions", "a/input", "c/input", ".git/kernels", "notes")
    assert find_competitions(root) == [
        CompetitionFolder("a", root / "a"),
        CompetitionFolder("b", root / "b"),
        CompetitionFolder("c", None),
    ]


def test_the_older_layout_from_the_root_and_from_its_docs(tmp_path: Path):
    root = make(tmp_path, "docs/a/docs/kernels", "docs/b/docs/discussions")
    expected = [CompetitionFolder(slug, root / "docs" / slug / "docs") for slug in "ab"]
    assert find_competitions(root) == expected
    assert find_competitions(root / "docs") == expected


@pytest.mark.parametrize(
    ("layout", "named"), [("a/kernels", "a"), ("a/docs/kernels", "a"), ("a/docs/kernels", "a/docs")]
)
def test_one_competition(tmp_path: Path, layout: str, named: str):
    make(tmp_path, layout)
    assert find_competitions(tmp_path / named) == [CompetitionFolder("a", (tmp_path / layout).parent)]


def test_of_two_layouts_of_one_competition_the_newer_counts(tmp_path: Path):
    root = make(tmp_path, "a/kernels", "docs/a/docs/kernels", "b/input", "docs/b/docs/kernels")
    assert [found.community for found in find_competitions(root)] == [root / "a", root / "docs/b/docs"]


def test_other_folders_have_none(tmp_path: Path):
    assert find_competitions(make(tmp_path, "photos/2017")) == []
