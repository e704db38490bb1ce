"""The competitions of the export, and the selection of one of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from typing import Any, cast

from bot.research.importers.meta_kaggle.export import Export
from state.errors import UsageError
from state.words import did_you_mean

_FILES = resources.files(__package__)


@dataclass(frozen=True)
class MetaCompetition:
    """One competition, and the size of its community before its deadline."""

    id: int
    slug: str
    title: str | None
    forum_id: int | None
    enabled_at: datetime | None
    """Aware UTC; that of the first post where Kaggle's own is a mistake."""
    deadline: datetime | None
    metric: str | None
    """As Kaggle names it."""
    is_max: bool | None
    max_daily_submissions: int | None
    topics: int
    messages: int
    kernels: int
    teams: int
    obstacle: str | None
    """Why no snapshot can be made of it; None: one can."""
    in_mle_bench: bool
    """Whether MLE-bench prepares its data and answers."""


def read_competitions(export: Export, now: datetime, slugs: Sequence[str] | None = None) -> list[MetaCompetition]:
    """Return the competitions, or some of them, by slug; a date after `now` is not believed. Raises UsageError."""
    _set(export, "exported", _exported(export, now))
    _set(export, "slugs", None if slugs is None else list(slugs))
    export.connection.execute(_sql("competitions.sql"))
    rows = export.connection.execute("FROM competition_rows ORDER BY slug").fetchall()
    competitions = [MetaCompetition(*map(_aware, (*row, row[1].casefold() in _mle_bench()))) for row in rows]
    if unknown := set(slugs or ()) - {competition.slug for competition in competitions}:
        all_slugs = (slug for (slug,) in export.connection.execute("SELECT Slug FROM Competitions").fetchall())
        raise UsageError(f"unknown competition {min(unknown)!r}: {did_you_mean(min(unknown), filter(None, all_slugs))}")
    return competitions


def exported_at(export: Export) -> datetime:
    """Return the time of the latest post, up to which the export goes."""
    row = export.connection.execute("SELECT getvariable('exported')").fetchone()
    if row is None or row[0] is None:
        raise UsageError("the export contains no message or notebook version with a date")
    return cast(datetime, row[0]).replace(tzinfo=UTC)


def select_competition(export: Export, competition: MetaCompetition) -> dict[str, int]:
    """Select a competition for the views of `competition.sql`, and return what was left out, by reason."""
    _set(export, "competition", competition.id)
    _set(export, "forum", competition.forum_id)
    _set(export, "slug", competition.slug)
    _set(export, "is_max", competition.is_max)
    _set(export, "start", competition.enabled_at and competition.enabled_at.replace(tzinfo=None))
    export.connection.execute(_sql("competition.sql"))
    return dict(export.connection.execute("FROM left_out").fetchall())


def _exported(export: Export, now: datetime) -> datetime | None:
    latest = """
        SELECT max(known_at) FROM (
          SELECT PostDate AS known_at FROM ForumMessages UNION ALL SELECT CreationDate FROM KernelVersions
        ) WHERE known_at <= ?
    """
    row = export.connection.execute(latest, [now.astimezone(UTC).replace(tzinfo=None)]).fetchone()
    return row[0] if row else None


def _set(export: Export, variable: str, value: object) -> None:
    export.connection.execute(f"SET VARIABLE {variable} = ?", [value])


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value


def _sql(name: str) -> str:
    return _FILES.joinpath(name).read_text(encoding="utf-8")


@cache
def _mle_bench() -> frozenset[str]:
    return frozenset(_sql("mle_bench.txt").casefold().split())
