"""Likeness of our scripts to public kernels: which kernel's code a script nearly has, by the sketches of both."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import col, select

from bot.evaluation.script_sketches import Code
from bot.evaluation.worker import Worker
from scrapers.duplicates import Sketched, band_digests, note_sketches, similarity
from scrapers.sketches import Sketch
from state.clock import Clock
from state.likeness import KeptSketch, Likeness, SketchBand
from state.store import Store
from state.tables import KernelVersion

__all__ = ["Likenesses", "Likest"]

_AT_ONCE = 50
"""Kernels whose text goes to the worker in one call."""


@dataclass(frozen=True)
class Likest:
    """The public kernel that is most like a script."""

    kernel: str
    share: float
    """Of the runs of code that the two have in common."""


class Likenesses:
    """Compares scripts with the kernels of a competition that are visible; kernels are sketched once, for all who ask."""

    def __init__(self, store: Store, competition: str, clock: Clock, worker: Worker) -> None:
        self._store = store
        self._competition = competition
        self._clock = clock
        self._worker = worker
        self._wordless: set[str] = set()
        """Versions that have no word to be recognised by."""

    async def likest(self, script: str) -> Likest | None:
        """Return the kernel that is most like a script, None where none is nearly so.

        Raises:
            InfrastructureFailure: the worker failed.
        """
        await self._sketch_kernels()
        (told,) = await self._sketches([Code(text=script, kind="script")])
        return None if told is None else self._most_like(_sketch(told))

    async def _sketch_kernels(self) -> None:
        """Sketch what was stored without, as a poll stores it."""
        while kernels := self._unsketched():
            told = await self._sketches([Code(text=row.text, kind=row.kind) for row in kernels])
            self._wordless |= {row.id for row, one in zip(kernels, told, strict=True) if one is None}
            with self._store.write(durable=False) as tx:
                note_sketches(
                    tx,
                    self._competition,
                    [
                        Sketched("kernel", row.id, row.created_at, _sketch(one))
                        for row, one in zip(kernels, told, strict=True)
                        if one is not None
                    ],
                )
            # Whatever could not be noted, such as one that was stored anew meanwhile, is left for the next time.
            if len(kernels) < _AT_ONCE or {row.id for row in kernels} & {row.id for row in self._unsketched()}:
                return

    def _unsketched(self) -> Sequence[KernelVersion]:
        known = select(Likeness.post_id).where(Likeness.competition == self._competition, Likeness.kind == "kernel")
        theirs = (
            KernelVersion.competition == self._competition,
            col(KernelVersion.created_at) <= self._clock.as_of(),
            col(KernelVersion.text) != "",
            col(KernelVersion.id).not_in(known),
        )
        with self._store.read() as session:
            ids = session.exec(select(KernelVersion.id).where(*theirs)).all()
            wanted = [id for id in ids if id not in self._wordless][:_AT_ONCE]
            rows = select(KernelVersion).where(*theirs, col(KernelVersion.id).in_(wanted))
            return session.exec(rows).all() if wanted else ()

    async def _sketches(self, codes: Sequence[Code]) -> list[Mapping[str, Any] | None]:
        told: list[Mapping[str, Any] | None] = await self._worker.call("sketch_scripts", codes=list(codes))
        return told

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
