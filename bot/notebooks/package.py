"""The package: one file with all that is pushed for one node, the same bytes for the same content."""

import json
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bot.notebooks.notebook import Notebook, notebook_text
from bot.notebooks.weights import WeightsFile, weights_slug
from state.closed_model import ClosedModel
from state.errors import InfrastructureFailure
from state.files import replacing

_CELLS, _FACTS, _NOTEBOOK = "cells.json", "package.json", "notebook.ipynb"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


class Facts(ClosedModel):
    """What is in a package."""

    node: int
    runs: Literal["infer", "train", "blend"]
    competition: str
    weights: tuple[WeightsFile, ...]
    weights_from: Literal["refit", "holdout", "both"]
    """Whether they were fitted on all rows, or by the scored run; an ensemble's scripts may differ."""
    accelerator: str | None
    image: str | None
    seconds: float
    """Of the notebook check, scaled to the hidden test set."""
    rows: int
    """Assumed number of hidden test rows."""


@dataclass(frozen=True)
class Package:
    """A package that was opened."""

    path: Path
    facts: Facts
    cells: tuple[str, ...]

    @classmethod
    def open(cls, path: Path) -> "Package":
        """Open a package. Raises InfrastructureFailure: it is none, or is damaged."""
        try:
            with zipfile.ZipFile(path) as archive:
                facts = Facts.model_validate_json(archive.read(_FACTS))
                cells = tuple(map(str, json.loads(archive.read(_CELLS))))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise InfrastructureFailure(f"{path.name} is not a notebook package: {error}") from error
        return cls(path, facts, cells)

    @property
    def weights(self) -> Mapping[str, str]:
        """SHA-256 of each file of the data set, by its name there; empty: no data set is needed."""
        return {w.flat: w.sha256 for w in self.facts.weights}

    @property
    def weights_slug(self) -> str:
        """Name of the data set, by which the notebook finds it, whoever owns it."""
        return weights_slug(self.facts.weights)

    @property
    def accelerator(self) -> str | None:
        """Such as `NvidiaTeslaT4`; None: no GPU."""
        return self.facts.accelerator

    @property
    def image(self) -> str | None:
        """The Docker image that is asked for; None: Kaggle's latest."""
        return self.facts.image

    @property
    def seconds(self) -> float:
        """What it is reckoned to take on the hidden test set."""
        return self.facts.seconds

    def notebook(self, marker: str) -> str:
        """Return the notebook (ipynb) with a line by which it is known again, such as the package's own hash."""
        return notebook_text(self.cells, marker)

    def unpack_weights(self, folder: Path) -> Mapping[str, Path]:
        """Unpack the files of the data set into a folder; return their paths by their names.

        Raises OSError: the disk failed; InfrastructureFailure: the package is damaged.
        """
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with zipfile.ZipFile(self.path) as archive:
                for flat in self.weights:
                    with archive.open(f"weights/{flat}") as source, (folder / flat).open("wb") as target:
                        shutil.copyfileobj(source, target, 1 << 20)
        except (KeyError, zipfile.BadZipFile) as error:
            raise InfrastructureFailure(f"{self.path.name} is damaged: {error}") from error
        return {flat: folder / flat for flat in self.weights}


def write_package(path: Path, facts: Facts, script: Notebook, weights: Path) -> None:
    """Write a package; the same content gives the same bytes.

    `weights` is the folder with the files that the facts list, by their flat names.

    Raises:
        OSError: the disk failed.
    """
    cells = script.cells()
    texts = {
        _FACTS: facts.model_dump_json(indent=1),
        _CELLS: json.dumps(cells),
        _NOTEBOOK: notebook_text(cells, "identical to the pushed notebook except for the package hash in this line"),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # Stored, not compressed: other versions of zlib would write other bytes.
    with replacing(path) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for name, text in texts.items():
            archive.writestr(zipfile.ZipInfo(name, _LONG_AGO), text)
        for file in facts.weights:
            info = zipfile.ZipInfo(f"weights/{file.flat}", _LONG_AGO)
            with (weights / file.flat).open("rb") as source, archive.open(info, "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, 1 << 20)
