"""Snapshots of different years moved in time, each as a whole and in memory, so that they begin together."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel

from scrapers.snapshots.community import Community
from scrapers.snapshots.snapshot import Snapshot

RowT = TypeVar("RowT", bound=BaseModel)


def begun_together(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Return the snapshots, all moved to the beginning of the earliest one; one alone stays as it is."""
    begins = min(snapshot.card.enabled_at for snapshot in snapshots)
    return [shifted(snapshot, begins - snapshot.card.enabled_at) for snapshot in snapshots]


def shifted(snapshot: Snapshot, by: timedelta) -> Snapshot:
    """Return a snapshot with all its times moved; those inside of texts stay, and no file of it is touched.

    Args:
        snapshot: as it was loaded, or moved before.
        by: how much later everything is.
    """
    if not by:
        return snapshot
    card, said = snapshot.card, snapshot.community
    community = Community(
        topics=[_row(row, by, "posted_at") for row in said.topics],
        messages=[_row(row, by, "posted_at", "edited_at") for row in said.messages],
        kernels=[_row(row, by, "created_at") for row in said.kernels],
        observations=[_row(row, by, "at") for row in said.observations],
    )
    card = _row(card, by, "enabled_at", "deadline")
    return replace(snapshot, card=card, community=community, shift=snapshot.shift + by)


def moved(shift: timedelta) -> str:
    """Return in words how much earlier or later a competition is than it was; empty if it is not."""
    if not shift:
        return ""
    span = abs(shift)
    days, hours = f"{span.days:,} day{'' if span.days == 1 else 's'}", span.seconds / 3600
    said = days if not hours else f"{days} and {hours:g} hours" if span.days else f"{hours:g} hours"
    return f"{said} {'later' if shift > timedelta(0) else 'earlier'} than it was"


def _row(row: RowT, by: timedelta, *names: str) -> RowT:
    times = {name: getattr(row, name) for name in names}
    return row.model_copy(update={name: time + by for name, time in times.items() if time is not None})
