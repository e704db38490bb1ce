"""Tests of scripts that run as notebooks on Kaggle do: their folders are Kaggle's."""

from pathlib import Path

from sandbox import ExitReason
from tests.sandbox.conftest import Run

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
    assert outcome.kept["submission.csv"].read_text() == "id"


async def test_an_isolated_script_cannot_change_its_inputs(run_isolated: Run, place: Path) -> None:
    script = "open('/kaggle/input/weights/model.bin', 'a')"
    outcome = await run_isolated(script, inputs=inputs(place))
    assert (outcome.reason, "Read-only" in outcome.output or "denied" in outcome.output) == (ExitReason.ERROR, True)
    assert (place / "weights" / "model.bin").read_text() == "w"
