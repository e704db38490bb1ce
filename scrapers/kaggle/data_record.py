"""The record of a competition's data: what the site listed, what came, and what lies in the folder."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from scrapers.snapshots.fields import UtcTime

_SHOWN = 3


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Listed(_Record):
    """A file as the site lists it."""

    name: str
    bytes: int
    created_at: UtcTime | None


class DataRecord(_Record):
    """Written when all data is there, and so the sign that it is."""

    competition: str
    fetched_at: UtcTime
    listed: tuple[Listed, ...]
    archive_bytes: int
    archive_sha256: str
    files: dict[str, tuple[int, str]]
    """Size in bytes and SHA-256 of each file that came, by path relative to the folder."""
    sample: str | None = None
    """The file of which the sample submission is a copy; None: there is none, or it came under its name."""

    def damaged(self, folder: Path) -> str | None:
        """Return a file that is not as it was fetched, by its size; None: all are."""
        for name, (size, _) in self.files.items():
            try:
                if (folder / name).lstat().st_size != size:
                    return name
            except OSError:
                return name
        return None


_PLAN = TypeAdapter(tuple[Listed, ...])


def differences(then: tuple[Listed, ...], now: tuple[Listed, ...]) -> str:
    """Say in which files two lists differ; empty where they do not."""
    old, new = {one.name: one for one in then}, {one.name: one for one in now}
    told = list(_differences(old, new))
    return ", ".join(told[:_SHOWN]) + (f" and {len(told) - _SHOWN} more" if len(told) > _SHOWN else "")


def _differences(old: dict[str, Listed], new: dict[str, Listed]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            yield f"{name} is gone"
        elif name not in old:
            yield f"{name} is new"
        elif old[name].bytes != new[name].bytes:
            yield f"{name} has {new[name].bytes:,} bytes instead of {old[name].bytes:,}"
        elif old[name].created_at != new[name].created_at:
            yield f"{name} is of {_day(new[name].created_at)} instead of {_day(old[name].created_at)}"


def read_record(path: Path) -> DataRecord | None:
    """Read a record; None where there is none that can be read."""
    try:
        return DataRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_record(path: Path, record: DataRecord) -> None:
    """Write a record, whole or not at all."""
    _write(path, record.model_dump_json(indent=1))


def read_plan(path: Path) -> tuple[Listed, ...] | None:
    """Read what the site listed when fetching began; None where it has not, or nobody knows."""
    try:
        return _PLAN.validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_plan(path: Path, listed: tuple[Listed, ...]) -> None:
    """Write what the site lists, whole or not at all."""
    _write(path, _PLAN.dump_json(listed).decode())


def _write(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _day(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}" if time else "no time"
