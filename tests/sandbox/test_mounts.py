"""What a script finds beside its data, as on Kaggle too, and what of the host is shown to it."""

import sys
from pathlib import Path

import pytest

import sandbox
from sandbox import ExitReason, Sandbox
from sandbox.mounts import VisiblePaths, visible_paths
from tests.sandbox.conftest import Run, make_request


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
    visible = VisiblePaths([tmp_path / "lib"])
    assert visible.shows(tmp_path / "link" / "out") == tmp_path / "lib"
    assert visible.shows(tmp_path / "other") is None


@pytest.fixture
def weights(place: Path) -> Path:
    """A folder with one file."""
    folder = place / "kept" / "weights"
    folder.mkdir(parents=True)
    (folder / "model.bin").write_bytes(b"\x00weights")
    return folder


async def test_a_script_reads_what_is_mounted_beside_its_data(run: Run, weights: Path) -> None:
    outcome = await run("print(open('weights/model.bin', 'rb').read())", mounts={"weights": weights})
    assert outcome.output == "b'\\x00weights'\n"
    assert outcome.files == {}


async def test_an_isolated_script_cannot_change_what_is_mounted(run_isolated: Run, weights: Path) -> None:
    script = """
        import os
        for change in (lambda: open("weights/new", "w"), lambda: open("weights/model.bin", "a"),
                       lambda: os.remove("weights/model.bin"), lambda: os.chmod("weights/model.bin", 0o777)):
            try:
                change()
                print("changed")
            except OSError as error:
                print(error.strerror)
    """
    outcome = await run_isolated(script, mounts={"weights": weights})
    assert "changed" not in outcome.output
    assert outcome.output.count("Read-only") + outcome.output.count("denied") == 4
    assert [path.name for path in weights.iterdir()] == ["model.bin"]


async def test_several_folders_lie_in_one(run: Run, place: Path, weights: Path) -> None:
    (place / "other").mkdir()
    (place / "other" / "b.bin").write_text("b")
    script = "import os; print(sorted(os.listdir('weights')), os.listdir('weights/b'), len(open('weights/a/model.bin').read()))"
    outcome = await run(script, mounts={"weights/a": weights, "weights/b": place / "other"})
    assert outcome.output == "['a', 'b'] ['b.bin'] 8\n"


async def test_what_is_mounted_counts_as_nothing_written(run: Run, weights: Path) -> None:
    (weights / "large.bin").write_bytes(b"x" * 3_000_000)
    outcome = await run("import time; time.sleep(0.5)", mounts={"weights": weights}, written_bytes=1_000_000)
    assert outcome.reason is ExitReason.FINISHED
    assert (weights / "large.bin").stat().st_size == 3_000_000


async def test_a_folder_that_is_not_there_is_the_engines_failure(run: Run, place: Path) -> None:
    outcome = await run("print('hello')", mounts={"weights": place / "none"})
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert "none" in (outcome.detail or "")


@pytest.mark.parametrize(
    "name", ["data", "../up", "a/../b", "a/b/c", "/tmp", "a//b", "", "submission.csv", ".execution", "data/x"]
)
async def test_a_mount_takes_a_plain_name_that_nothing_else_has(sandbox: Sandbox, place: Path, name: str) -> None:
    with pytest.raises(ValueError, match=r"invalid name|mounted|reserved"):
        await sandbox.run(make_request(place, "pass", mounts={name: place}))


SCRIPT = """
    import os
    print(os.path.samefile(os.getcwd(), "/kaggle/working"), sorted(os.listdir("/kaggle/input")))
    print(open("/kaggle/input/competitions/leaf/test.csv").read(), end="")
    print(open(os.path.join("/kaggle/input", "weights", "model.bin")).read())
    open("/kaggle/working/submission.csv", "w").write("id")
"""


def inputs(place: Path) -> dict[str, Path]:
    (place / "leaf").mkdir()
    (place / "leaf" / "test.csv").write_text("id\n1\n")
    (place / "weights").mkdir()
    (place / "weights" / "model.bin").write_text("w")
    return {"competitions/leaf": place / "leaf", "weights": place / "weights"}


async def test_a_script_finds_kaggles_folders(run: Run, place: Path) -> None:
    outcome = await run(SCRIPT, inputs=inputs(place), keep=("submission.csv",))
    assert outcome.output == "True ['competitions', 'weights']\nid\n1\nw\n"
    assert outcome.files["submission.csv"].read_text() == "id"


async def test_an_isolated_script_cannot_change_its_inputs(run_isolated: Run, place: Path) -> None:
    script = "open('/kaggle/input/weights/model.bin', 'a')"
    outcome = await run_isolated(script, inputs=inputs(place))
    assert (outcome.reason, "Read-only" in outcome.output or "denied" in outcome.output) == (ExitReason.ERROR, True)
    assert (place / "weights" / "model.bin").read_text() == "w"
