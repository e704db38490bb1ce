"""Moves snapshots of different years in time, in memory, so that they begin together."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel

from scrapers.snapshots.community import Community
from scrapers.snapshots.snapshot import Snapshot

RowT = TypeVar("RowT", bound=BaseModel)


def align_starts(snapshots: Sequence[Snapshot]) -> list[Snapshot]:
    """Return the snapshots, all moved to the start of the earliest one."""
    begins = min(snapshot.card.enabled_at for snapshot in snapshots)
    return [shifted(snapshot, begins - snapshot.card.enabled_at) for snapshot in snapshots]


def shifted(snapshot: Snapshot, shift: timedelta) -> Snapshot:
    """Return a snapshot with all its times moved; times within texts stay, and no file is changed."""
    if not shift:
        return snapshot
    card, rows = snapshot.card, snapshot.community
    community = Community(
        topics=[_row(row, shift, "posted_at") for row in rows.topics],
        messages=[_row(row, shift, "posted_at", "edited_at") for row in rows.messages],
        kernels=[_row(row, shift, "created_at") for row in rows.kernels],
        observations=[_row(row, shift, "at") for row in rows.observations],
    )
    card = _row(card, shift, "enabled_at", "deadline")
    return replace(snapshot, card=card, community=community, shift=snapshot.shift + shift)


def _row(row: RowT, shift: timedelta, *names: str) -> RowT:
    times = {name: getattr(row, name) for name in names}
    return row.model_copy(update={name: time + shift for name, time in times.items() if time is not None})
