"""Snapshots of different years moved in time, each as a whole and in memory, so that they begin together."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

from pydantic import BaseModel

from scrapers.community import Community
from scrapers.snapshot import Snapshot

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
        topics=[_moved(row, by, "posted_at") for row in said.topics],
        messages=[_moved(row, by, "posted_at", "edited_at") for row in said.messages],
        kernels=[_moved(row, by, "created_at") for row in said.kernels],
        observations=[_moved(row, by, "at") for row in said.observations],
    )
    card = _moved(card, by, "enabled_at", "deadline")
    return replace(snapshot, card=card, community=community, shift=snapshot.shift + by)


def _moved(row: RowT, by: timedelta, *names: str) -> RowT:
    times = {name: getattr(row, name) for name in names}
    return row.model_copy(update={name: time + by for name, time in times.items() if time is not None})
