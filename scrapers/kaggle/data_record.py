"""The record of a competition's data: what was downloaded, and what is in the folder."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from scrapers.snapshots.fields import UtcTime


class DataRecord(BaseModel):
    """Written when all data is there, and so the sign of completeness."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    competition: str
    fetched_at: UtcTime
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


def read_record(path: Path) -> DataRecord | None:
    """Read a record; None if there is no readable one."""
    try:
        return DataRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def write_record(path: Path, record: DataRecord) -> None:
    """Write a record, whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(record.model_dump_json(indent=1), encoding="utf-8")
    part.replace(path)
