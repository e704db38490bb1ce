"""One MLE-Live community laid onto one task: a new snapshot, checked before it gets its name."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from scrapers.imports.linking import link_files
from scrapers.imports.mle_live.community import Came, CommunityWriter
from scrapers.imports.mle_live.folders import CompetitionFolder
from scrapers.imports.mle_live.values import iso
from scrapers.snapshots.card import Direction
from scrapers.snapshots.community import COMMUNITY
from scrapers.snapshots.manifest import MANIFEST, Manifest
from scrapers.snapshots.snapshot import Snapshot

IMPORTED = "community: an MLE-Live folder"
"""How the source of a manifest begins by which an import is known."""
_EVERY = 250
"""Files between two words on how far it is."""


@dataclass(frozen=True)
class Laying:
    """What one snapshot is made of."""

    source: CompetitionFolder
    community: Path
    task: Path
    manifest: Manifest
    """The task's."""
    at_deadline: bool
    """Whether rows without a time get the deadline's."""

    def lay(self, folder: Path, metrics: Mapping[str, Direction], now: datetime, say: Callable[[str], None]) -> Came:
        """Make the snapshot in an empty folder.

        Args:
            folder: where.
            metrics: the metrics that can be computed, by name, and the direction of each.
            now: the time of the import.
            say: told how far it is.

        Raises:
            OSError: something cannot be read or written.
            SnapshotError: what came out is no snapshot.
        """
        link_files(self.task, folder, _of_task, _ticker("files of the task", say))
        deadline = self.manifest.deadline if self.at_deadline else None
        writer = CommunityWriter(self.community, folder, self.source.slug, deadline)
        came = writer.write(self.manifest.metric.direction == "minimize", _ticker("texts", say))
        self._write_manifest(folder, came, now)
        say("checking")
        Snapshot.load(folder, metrics)
        return came

    def _write_manifest(self, folder: Path, came: Came, now: datetime) -> None:
        content: dict[str, Any] = json.loads((self.task / MANIFEST).read_text(encoding="utf-8"))
        hashes = content.get("sha256", {})
        content["sha256"] = {name: value for name, value in hashes.items() if _of_task(name)}
        content["sources"] = [*content.get("sources", []), *_sources(came, self.at_deadline)]
        content["collected_at"] = iso(now.replace(microsecond=0))
        content.pop("dated_at_deadline", None)
        if self.at_deadline:
            content["dated_at_deadline"] = came.undated.model_dump()
        (folder / MANIFEST).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _of_task(name: str) -> bool:
    """Whether a file of the task's snapshot belongs to the new one as it is."""
    first = name.split("/")[0]
    return first not in (COMMUNITY, MANIFEST) and not first.startswith(".")


def _sources(came: Came, at_deadline: bool) -> list[str]:
    undated = f"{came.undated.topics} topics, {came.undated.messages} messages and {came.undated.kernels} kernels"
    dated = (
        "were given the deadline as theirs (`source` names them)" if at_deadline else "are never shown under a clock"
    )
    return [
        f"{IMPORTED}; votes and scores as of a day that it does not tell, before `collected_at`",
        f"MLE-Live keeps no times of comments: {undated} without one {dated}",
    ]


def _ticker(what: str, say: Callable[[str], None]) -> Callable[[int], None]:
    def tick(done: int) -> None:
        if done % _EVERY == 0:
            say(f"{done:,} {what}")

    return tick
