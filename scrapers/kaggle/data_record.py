"""The record of a competition's data: what the site listed, what was downloaded, and what is in the folder."""

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
    """Written when all data is there, and so the sign of completeness."""

    competition: str
    fetched_at: UtcTime
    listed: tuple[Listed, ...]
    archive_bytes: int
    archive_sha256: str
    files: dict[str, tuple[int, str]]
    """Size in bytes and SHA-256 of each downloaded file, by path relative to the folder."""
    sample: str | None = None
    """The file of which the sample submission is a copy; None: there is none, or it had the standard name."""

    def damaged(self, folder: Path) -> str | None:
        """Return a file whose size has changed since it was fetched; None if there is none."""
        for name, (size, _) in self.files.items():
            try:
                if (folder / name).lstat().st_size != size:
                    return name
            except OSError:
                return name
        return None


_PLAN = TypeAdapter(tuple[Listed, ...])


def differences(then: tuple[Listed, ...], now: tuple[Listed, ...]) -> str:
    """Name the files that are in only one of two lists, or differ; empty if there are none."""
    names = sorted({one.name for one in {*then} ^ {*now}})
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def read_record(path: Path) -> DataRecord | None:
    """Read a record; None if there is no readable one."""
    try:
        return DataRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_record(path: Path, record: DataRecord) -> None:
    """Write a record, whole or not at all."""
    _write(path, record.model_dump_json(indent=1))


def read_plan(path: Path) -> tuple[Listed, ...] | None:
    """Read what the site listed when fetching began; None if it did not begin, or the list cannot be read."""
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
