"""The list of weights: the package's own, and the owner's."""

import tomllib
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, ValidationError

from state.closed_model import ClosedModel
from state.errors import UsageError

OWN_LIST = "weights.toml"
"""File in the weights folder with the owner's own entries, in the form of the package's."""
_LOOPBACK = ("127.0.0.1", "localhost")


def _secure_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ValueError("must start with https://")
    return value


Address = Annotated[str, AfterValidator(_secure_address)]
PlainName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$", max_length=100)]


class WeightFile(ClosedModel):
    """One file: its address and identity."""

    name: PlainName
    url: Address
    bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Weights(ClosedModel):
    """One pretrained model."""

    name: PlainName
    """Also its folder's name."""
    about: str = ""
    released: date
    """A day on which it was certainly public; a replay of an earlier time does without it."""
    licence: str
    load: str
    """A line of Python that loads it, from the script's working folder."""
    files: tuple[WeightFile, ...] = Field(min_length=1)

    @property
    def bytes(self) -> int:
        """Size of all its files."""
        return sum(file.bytes for file in self.files)


class _List(ClosedModel):
    weights: tuple[Weights, ...] = ()


def load_catalog(folder: Path) -> tuple[Weights, ...]:
    """Return the package's list and the owner's, which is in the weights folder.

    Raises UsageError: the owner's list cannot be read, or names something twice.
    """
    packaged, own_list = resources.files("bot.weights").joinpath("weights.toml"), folder / OWN_LIST
    weights_list = _read(packaged.read_text(encoding="utf-8"), "the package's list of weights")
    try:
        weights_list += _read(own_list.read_text(encoding="utf-8"), str(own_list))
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{own_list} cannot be read: {error}") from error
    names = [weights.name for weights in weights_list]
    if duplicates := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{own_list}: names already taken here or in the package's list: {', '.join(duplicates)}")
    return weights_list


def _read(text: str, source: str) -> tuple[Weights, ...]:
    try:
        return _List.model_validate(tomllib.loads(text)).weights
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{source} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{source}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
