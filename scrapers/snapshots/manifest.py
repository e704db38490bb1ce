"""The manifest of a snapshot, `snapshot.json` in format 1, and the task card it gives."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from scrapers.snapshots.card import MetricSpec, TaskCard
from scrapers.snapshots.fields import UtcTime, sentences
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.problems import Problems, json_object
from state.closed_model import ClosedModel
from state.files import sha256_of

MANIFEST = "snapshot.json"
DESCRIPTION = "description.md"
FORMAT = 1
_LARGEST_MANIFEST = 16_000_000  # bytes; a manifest is small even with a hash for each of 100,000 files

Column = Annotated[str, Field(min_length=1)]


class RowCounts(ClosedModel, strict=True):
    """How many rows there are of each kind."""

    topics: Annotated[int, Field(ge=0)] = 0
    messages: Annotated[int, Field(ge=0)] = 0
    kernels: Annotated[int, Field(ge=0)] = 0


class Manifest(ClosedModel, strict=True):
    """All fields of `snapshot.json`; times are aware UTC, hashes are lower-case hexadecimal by relative path."""

    format: Literal[1]
    slug: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=200)]
    title: str | None = None
    url: str | None = None
    category: str | None = None
    metric: MetricSpec
    id_column: str = ""
    """Empty, as the prediction columns, where the snapshot has a community only."""
    key_columns: list[Column] = Field(default_factory=list)
    prediction_columns: list[Column] = Field(default_factory=list)
    submission_file: str = "submission.csv"
    enabled_at: UtcTime
    deadline: UtcTime
    max_daily_submissions: Annotated[int, Field(ge=0)] | None = None
    kind: Literal["csv", "code"] = "csv"
    collected_at: UtcTime
    split: str | None = None
    sources: list[str] = Field(default_factory=list)
    sha256: dict[str, str] = Field(default_factory=dict)
    dated_at_deadline: RowCounts | None = None
    """Rows without a time to which an import gave the deadline's; None: it did not do so."""
    exact_dates: bool = False
    """Whether the community claims to show nothing before its time, which `check.py` checks."""

    @field_validator("submission_file")
    @classmethod
    def _plain_name(cls, name: str) -> str:
        if not name or name in {".", ".."} or "/" in name or "\\" in name or "\0" in name:
            raise ValueError("must be a file name without a folder")
        return name

    @field_validator("sha256")
    @classmethod
    def _hashes(cls, hashes: dict[str, str]) -> dict[str, str]:
        bad = [path for path, value in hashes.items() if not re.fullmatch(r"[0-9a-fA-F]{64}", value)]
        if bad:
            raise ValueError(f"not 64 hexadecimal digits: {', '.join(sorted(bad)[:5])}")
        return {path: value.lower() for path, value in hashes.items()}

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        columns = [self.id_column, *self.key_columns, *self.prediction_columns]
        if len(set(columns)) != len(columns):
            raise ValueError("`id_column`, `key_columns` and `prediction_columns` must not name a column twice")
        if bool(self.id_column) != bool(self.prediction_columns):
            raise ValueError("`id_column` and `prediction_columns` must be given together")
        if self.deadline < self.enabled_at:
            raise ValueError("`deadline` is before `enabled_at`")
        return self

    def card(self, description: str) -> TaskCard:
        """Return the task card; each field's source is the manifest, or `description.md`."""
        fields = [name for name in TaskCard.model_fields if name != "sources"]
        sources = {name: MANIFEST if name in self.model_fields_set else f"default ({MANIFEST})" for name in fields}
        values = {
            **{name: value for name, value in self if name in fields},
            "title": self.title or self.slug,
            "category": self.category or "unknown",
            "description": description,
            "sources": sources | {"description": DESCRIPTION},
        }
        return TaskCard.model_validate(values)


def hashes_of(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a new snapshot, but of those in folders of `data/` and of the community."""
    patterns = ("data/*", "private/*", DESCRIPTION, LEADERBOARD)
    files = sorted(path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in files}


def read_manifest(path: Path, problems: Problems) -> Manifest | None:
    """Read `snapshot.json` in the folder `path`; None, with the reasons in `found`, if it is not valid."""
    content = None
    with problems.reading(MANIFEST):
        file = path / MANIFEST
        if file.stat().st_size > _LARGEST_MANIFEST:
            problems.add(MANIFEST, "is too large for a manifest")
        else:
            content = json_object(file.read_bytes(), MANIFEST, None, problems)
    if content is None:
        return None
    if content.get("format") != FORMAT:
        problems.add(MANIFEST, f"has format {content.get('format')!r}; this version reads format {FORMAT}")
        return None
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        for sentence in sentences(error):
            problems.add(MANIFEST, sentence)
        return None
