"""Likeness of our scripts to public kernels: which kernel's code a script nearly has, by the sketches of both."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select

from bot.evaluation.worker import Worker
from scrapers.posts.duplicates import band_digests, similarity
from scrapers.posts.sketches import Sketch
from state.clock import Clock
from state.likeness import KeptSketch, Likeness, SketchBand
from state.store import Store
from state.tables import KernelVersion

__all__ = ["Likenesses", "Likest"]


@dataclass(frozen=True)
class Likest:
    """The public kernel that is most like a script."""

    kernel: str
    share: float
    """Of the runs of code that the two have in common."""


class Likenesses:
    """Compares scripts with the kernels of a competition that are visible, whose sketches are stored with them."""

    def __init__(self, store: Store, competition: str, clock: Clock, worker: Worker) -> None:
        self._store = store
        self._competition = competition
        self._clock = clock
        self._worker = worker

    async def likest(self, script: str) -> Likest | None:
        """Return the kernel that is most like a script, None where none is nearly so.

        Raises:
            InfrastructureFailure: the worker failed.
        """
        told = await self._worker.call("sketch_script", text=script)
        return None if told is None else self._most_like(_sketch(told))

    def _most_like(self, own: Sketch) -> Likest | None:
        with self._store.read() as session:
            digests = band_digests(own, self._competition, "kernel")
            near = select(SketchBand.sketch).where(col(SketchBand.digest).in_(digests))
            rows = session.exec(select(KeptSketch).where(col(KeptSketch.id).in_(near))).all()
            kept = {row.id: Sketch(row.sha256, row.code, row.prose) for row in rows}
            shares = {id: similarity(own, sketch, "kernel") for id, sketch in kept.items()}
            query = (
                select(Likeness.sketch, KernelVersion.ref)
                .join(KernelVersion, col(KernelVersion.id) == col(Likeness.post_id))
                .where(
                    Likeness.competition == self._competition,
                    KernelVersion.competition == self._competition,
                    Likeness.kind == "kernel",
                    col(Likeness.sketch).in_(list(shares)),
                    col(Likeness.known_at) <= self._clock.as_of(),
                )
            )
            found = [Likest(ref, shares[sketch]) for sketch, ref in session.exec(query)]
        return max(found, key=lambda one: (one.share, one.kernel), default=None)


def _sketch(told: Mapping[str, Any]) -> Sketch:
    return Sketch(told["sha256"], _bytes(told["code"]), _bytes(told["prose"]))


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
