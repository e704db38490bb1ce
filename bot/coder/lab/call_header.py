"""What the first line of a call announces: its command, and the files that follow, each bounded before it is read."""

import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from bot.coder.lab.calls import (
    INFER,
    SCRIPT,
    Arguments,
    BoardCommand,
    DoneCommand,
    FileRole,
    Fit,
    Ideas,
    Log,
    NoteCommand,
    ScoreCommand,
    StatusCommand,
    Wait,
    Withdraw,
)
from bot.models.quoting import line

HEADER_BYTES = 64 * 1024
_ARRAY_BYTES, _SCRIPT_BYTES = 512_000_000, 100_000
_SOURCE_BYTES, _SOURCES_BYTES, _SOURCES = 1_000_000, 4_000_000, 40
_PATH_CHARACTERS, _DEEPEST = 200, 8
_PART = re.compile(r"\w[\w.+ @=,()\[\]-]*", re.ASCII)
_SUFFIX = re.compile(r"\.[A-Za-z0-9]{1,8}")


class NotTaken(Exception):
    """A refused call; the text is a sentence for the caller."""

    def __init__(self, text: str, status: int = 2) -> None:
        """Take the sentence, and the exit status of the command."""
        super().__init__(text)
        self.status = status


class Announced(BaseModel):
    """A file that follows the first line."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    role: FileRole | Literal["source"]
    name: Annotated[str, Field(max_length=_PATH_CHARACTERS)]
    """An array's file name, of which the suffix counts, or a source's relative path."""
    bytes: Annotated[int, Field(ge=0)]


class _Header(BaseModel):
    """The first line of a call."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    command: Annotated[str, Field(max_length=20)]
    arguments: dict[str, JsonValue]
    files: list[Announced] = Field(default_factory=list)


_COMMANDS: dict[str, TypeAdapter[Any]] = {
    name: TypeAdapter(kind)
    for name, kind in {
        "status": StatusCommand,
        "board": BoardCommand,
        "log": Log,
        "fit": Fit,
        "wait": Wait,
        "score": ScoreCommand,
        "ideas": Ideas,
        "note": NoteCommand,
        "withdraw": Withdraw,
        "done": DoneCommand,
    }.items()
}
_REQUIRED_ROLES: Mapping[type, tuple[FileRole, ...]] = {Log: ("validation",), Fit: ("train", "validation", "test")}
_ALLOWED_ROLES: Mapping[type, tuple[FileRole, ...]] = {**_REQUIRED_ROLES, Log: ("oof", "validation", "test")}


def announced(first: bytes) -> tuple[Arguments, tuple[Announced, ...]]:
    """Read a call's first line. Raises NotTaken: the call is unknown, or its files are wrong."""
    try:
        header = _Header.model_validate_json(first)
    except ValidationError as error:
        raise NotTaken(f"the first line of the call is invalid: {_wrong(error)}") from None
    if (kind := _COMMANDS.get(header.command)) is None:
        raise NotTaken(f"unknown command {line(header.command)!r}; valid commands: {', '.join(_COMMANDS)}")
    try:
        arguments: Arguments = kind.validate_python(header.arguments)
    except ValidationError as error:
        raise NotTaken(f"lab {header.command}: {_wrong(error)}") from None
    try:
        _check_files(arguments, header.files)
    except NotTaken as error:
        raise NotTaken(f"lab {header.command}: {error}") from None
    return arguments, tuple(header.files)


def check_script(sources: Mapping[str, Path]) -> None:
    """Raise NotTaken for a script that is not text."""
    for name, path in sources.items():
        try:
            path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise NotTaken(f"{name} is not UTF-8 text: invalid byte at {error.start}") from None


def _check_files(arguments: Arguments, files: list[Announced]) -> None:
    """Raise NotTaken for files that the call does not take, or that are too many or too large."""
    sources = [file for file in files if file.role == "source"]
    arrays = [file for file in files if file.role != "source"]
    _check_arrays(arrays, _REQUIRED_ROLES.get(type(arguments), ()), _ALLOWED_ROLES.get(type(arguments), ()))
    if sources and not isinstance(arguments, Log | ScoreCommand):
        raise NotTaken("sources are not accepted")
    _check_sources(sources)
    if isinstance(arguments, ScoreCommand):
        _check_scripts(sources)


def _check_arrays(files: list[Announced], required: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    roles = [file.role for file in files]
    for file in files:
        if file.role not in allowed:
            raise NotTaken(f"a file for {file.role} is not accepted")
        if roles.count(file.role) > 1:
            raise NotTaken(f"{file.role} appears twice")
        if not (_PART.fullmatch(file.name) and _SUFFIX.fullmatch(PurePosixPath(file.name).suffix)):
            raise NotTaken(f"{file.role}: invalid file name {line(file.name, 80)!r}: use a plain name with a suffix")
        if file.bytes == 0:
            raise NotTaken(f"{file.role}: the file is empty")
        if file.bytes > _ARRAY_BYTES:
            raise NotTaken(f"{file.role}: the file is {file.bytes} bytes long; the limit is {_ARRAY_BYTES}")
    for role in required:
        if role not in roles:
            raise NotTaken(f"{role} is missing")


def _check_sources(files: list[Announced]) -> None:
    if len(files) > _SOURCES:
        raise NotTaken(f"{len(files)} sources were named; the limit is {_SOURCES}")
    if (size := sum(file.bytes for file in files)) > _SOURCES_BYTES:
        raise NotTaken(f"the sources total {size} bytes; the limit is {_SOURCES_BYTES}")
    names, folders = set[str](), set[str]()
    for file in files:
        shown_name = line(file.name, 80)
        parts = file.name.split("/")
        if len(parts) > _DEEPEST or not all(map(_PART.fullmatch, parts)):
            rule = f"use a relative path with at most {_DEEPEST} components, each a plain name"
            raise NotTaken(f"invalid source name {shown_name!r}: {rule}")
        if file.bytes > _SOURCE_BYTES:
            raise NotTaken(f"{shown_name} is {file.bytes} bytes long; the limit for a source is {_SOURCE_BYTES}")
        if file.name in names:
            raise NotTaken(f"two sources are named {shown_name!r}")
        names.add(file.name)
        folders.update(map(str, PurePosixPath(file.name).parents))
    if clashing := sorted(names & folders):
        raise NotTaken(f"{clashing[0]!r} is both a source and a folder of other sources")


def _check_scripts(files: list[Announced]) -> None:
    sizes = {file.name: file.bytes for file in files}
    if not sizes.get(SCRIPT):
        raise NotTaken("the script is missing or empty")
    for name, size in sizes.items():
        if name not in (SCRIPT, INFER):
            raise NotTaken(f"only {SCRIPT} and {INFER} are accepted, not {line(name, 80)!r}")
        if size > _SCRIPT_BYTES:
            raise NotTaken(f"the script is {size} bytes long; the limit is {_SCRIPT_BYTES}")


def _wrong(error: ValidationError) -> str:
    """Return the first thing that is wrong, as one bounded line."""
    first = error.errors(include_url=False, include_input=False)[0]
    location = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "too_long":
        message = "{actual_length} items were given; the limit is {max_length}".format(**first["ctx"])
    return line(f"{location}: {message}" if location else message)
