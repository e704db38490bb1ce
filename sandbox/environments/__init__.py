"""Environments: packages for scripts, separate from the bot's own, made by `bot env create`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Literal, get_args

from pydantic import ValidationError

from state.closed_model import ClosedModel
from state.errors import UsageError

Group = Literal["tabular", "text", "vision", "audio"]
GROUPS: Sequence[Group] = get_args(Group)
LISTS = Path(__file__).parent
"""Holds a list of packages for each group."""
VERSIONS = LISTS / "packages.txt"
"""The versions of them and of all their dependencies; also used for the image."""
PYTHON = (3, 11)
"""Whose versions are pinned; the image's, too, so that containers can take an environment's packages."""
DEFAULT = "default"
PLAIN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class Record(ClosedModel):
    """The record of a complete environment."""

    groups: tuple[Group, ...]
    cuda: bool
    wanted: tuple[str, ...]
    """Names of the requested packages; their dependencies are installed, too."""
    python: str
    installer: Literal["uv", "pip"]
    bytes: int
    seconds: float
    made: datetime


@dataclass(frozen=True)
class ScriptEnvironment:
    """A complete environment."""

    path: Path
    record: Record

    @property
    def name(self) -> str:
        """Its name, which is its folder's."""
        return self.path.name

    @property
    def executable(self) -> Path:
        """Its Python."""
        return self.path / "bin" / "python"

    @property
    def packages_folder(self) -> Path:
        """Its site-packages."""
        return self.path / "lib" / f"python{PYTHON[0]}.{PYTHON[1]}" / "site-packages"

    @property
    def home(self) -> Path:
        """Prefix of the Python that it was made from."""
        return self.executable.resolve().parent.parent

    def packages(self) -> Mapping[str, str]:
        """Return what is installed, version by name."""
        distributions = metadata.distributions(path=[str(self.packages_folder)])
        descriptions = (distribution.metadata for distribution in distributions)  # each access reads the file again
        return {description["Name"]: description["Version"] for description in descriptions}

    def summary(self) -> str:
        """Describe it in a few words."""
        kind = "CUDA" if self.record.cuda else "CPU"
        size = f"{self.record.bytes / 1e9:.1f} GB"
        return f"{', '.join(self.record.groups)} ({kind}), Python {self.record.python}, {size}"

    @staticmethod
    def record_file(path: Path) -> Path:
        """Return where the record of the environment in this folder lies, which marks it as complete."""
        return path / "environment.json"


def environments_in(folder: Path) -> tuple[list[ScriptEnvironment], list[str]]:
    """Return the complete environments of a folder, and the names of incomplete ones."""
    complete, unfinished = [], []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name.startswith(".") or not path.is_dir():
            continue
        if environment := _read(path):
            complete.append(environment)
        else:
            unfinished.append(path.name)
    return complete, unfinished


def environment_named(folder: Path, name: str) -> ScriptEnvironment:
    """Return the environment of that name. Raises UsageError: it is not there, or not complete."""
    if environment := _read(folder / name):
        return environment
    raise UsageError(f"environment {name} not found in {folder}: run `bot env create {name}`")


def chosen_environment(folder: Path, name: str | None) -> ScriptEnvironment | None:
    """Return the configured environment; if none is configured, `default` if it exists.

    Raises UsageError: the configured one does not exist, or is not complete.
    """
    return _read(folder / DEFAULT) if name is None else environment_named(folder, name)


def _read(path: Path) -> ScriptEnvironment | None:
    try:
        record = Record.model_validate_json(ScriptEnvironment.record_file(path).read_bytes())
    except (FileNotFoundError, NotADirectoryError, ValidationError):
        return None
    return ScriptEnvironment(path, record)
