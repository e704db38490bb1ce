"""Tests of what of the host is shown to a script."""

import sys
from pathlib import Path

import sandbox
from sandbox.mounts import Visible, visible_paths


def test_no_whole_prefix_is_shown_since_a_project_may_lie_in_it() -> None:
    shown = visible_paths().paths
    assert Path(sys.prefix) not in shown
    assert Path("/usr") not in shown
    assert Path(sys.prefix) / "lib" in shown or Path("/usr/lib") in shown


def test_the_project_and_its_run_folders_are_not_shown() -> None:
    project = Path(sandbox.__file__).parent.parent
    visible = visible_paths()
    assert visible.shows(project / "runs" / "a" / "labels.csv") is None


def test_a_link_into_what_is_shown_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "link").symlink_to("lib")
    visible = Visible([tmp_path / "lib"])
    assert visible.shows(tmp_path / "link" / "out") == tmp_path / "lib"
    assert visible.shows(tmp_path / "other") is None
