"""The list of weights: the package's own, and what the owner has added."""

import json
import tomllib
from datetime import date
from importlib import resources
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from state.errors import UsageError

OWN_LIST = "weights.toml"
"""File in the weights folder with what the owner has added."""
_LOOPBACK = ("127.0.0.1", "localhost")


def _secure_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        raise ValueError("must start with https://")
    return value


Address = Annotated[str, AfterValidator(_secure_address)]
PlainName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-][A-Za-z0-9._-]*$", max_length=100)]


class WeightFile(BaseModel):
    """One file: its address and identity."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: PlainName
    url: Address
    bytes: int = Field(gt=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Weights(BaseModel):
    """One pretrained model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class _List(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: tuple[Weights, ...] = ()


def load_catalog(folder: Path) -> tuple[Weights, ...]:
    """Return the package's list and the owner's, which is in the weights folder.

    Raises:
        UsageError: the owner's list cannot be read, or names something twice.
    """
    packaged = resources.files("bot.weights").joinpath("weights.toml").read_text(encoding="utf-8")
    found = (*_read(packaged, "the package's list of weights"), *own_weights(folder))
    names = [weights.name for weights in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{folder / OWN_LIST}: {', '.join(twice)} is listed twice; the package's own names are taken")
    return found


def own_weights(folder: Path) -> tuple[Weights, ...]:
    """Return the owner's additions."""
    path = folder / OWN_LIST
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return _read(text, str(path))


def add_own(folder: Path, added: Weights) -> None:
    """Add to the owner's list, whole or not at all."""
    path = folder / OWN_LIST
    partial = path.with_suffix(".part")
    partial.write_text("\n".join(_as_toml(weights) for weights in (*own_weights(folder), added)), encoding="utf-8")
    partial.replace(path)


def _read(text: str, where: str) -> tuple[Weights, ...]:
    try:
        return _List.model_validate(tomllib.loads(text)).weights
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{where} cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{where}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _as_toml(weights: Weights) -> str:
    lines = ["[[weights]]", *_pairs(weights.model_dump(exclude={"files"}))]
    for file in weights.files:
        lines += ["[[weights.files]]", *_pairs(file.model_dump())]
    return "\n".join([*lines, ""])


def _pairs(values: dict[str, Any]) -> list[str]:
    # A JSON string is a TOML string too, as long as nothing but control characters is escaped.
    return [
        f"{key} = {value if isinstance(value, date | int) else json.dumps(value, ensure_ascii=False)}"
        for key, value in values.items()
    ]
