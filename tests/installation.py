"""What an installation says of the packages beside their code: their entry points, as pyproject.toml has them."""

import os
import tomllib
from importlib import metadata
from pathlib import Path

from tests.source_tree import ROOT

__all__ = ["entry_points", "follow_pyproject", "write_metadata"]

_NAME = "kaggle_bot-0.1.0.dist-info"


def entry_points(pyproject: Path = ROOT / "pyproject.toml") -> dict[str, dict[str, str]]:
    """Return the entry points that a pyproject.toml declares, by group and name."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]
    return {"console_scripts": project["scripts"], **project.get("entry-points", {})}


def follow_pyproject() -> None:
    """Bring the entry points of an editable installation up to date: they are those of the day on which it was made."""
    declared = entry_points()
    distribution = metadata.distribution("kaggle-bot")
    installed = {(point.group, point.name, point.value) for point in distribution.entry_points}
    if installed == {(group, name, value) for group, points in declared.items() for name, value in points.items()}:
        return
    file = Path(str(distribution.locate_file(_NAME))) / "entry_points.txt"
    new = file.with_suffix(f".{os.getpid()}")
    new.write_text(_text(declared), encoding="utf-8")
    new.replace(file)


def write_metadata(folder: Path, declared: dict[str, dict[str, str]]) -> None:
    """Make a folder that holds a copy of the packages an installation of them, with these entry points."""
    info = folder / _NAME
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: kaggle-bot\nVersion: 0.1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(_text(declared), encoding="utf-8")


def _text(declared: dict[str, dict[str, str]]) -> str:
    sections = (
        "\n".join((f"[{group}]", *(f"{name} = {value}" for name, value in points.items())))
        for group, points in declared.items()
    )
    return "\n\n".join(sections) + "\n"
