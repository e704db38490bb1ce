"""A new snapshot from one MLE-Live community and one task, checked before it gets its name."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from scrapers.imports.linking import link_files
from scrapers.imports.mle_live.community import CommunityWriter, ImportCounts
from scrapers.imports.mle_live.folders import CompetitionFolder
from scrapers.imports.mle_live.values import iso
from scrapers.snapshots.card import Direction
from scrapers.snapshots.community import COMMUNITY
from scrapers.snapshots.manifest import MANIFEST, Manifest
from scrapers.snapshots.snapshot import Snapshot

IMPORTED = "community: an MLE-Live folder"
"""The beginning of the source in a manifest that marks an import."""
_EVERY = 250
"""Files between two progress lines."""


@dataclass(frozen=True)
class NewSnapshot:
    """The parts of one new snapshot."""

    source: CompetitionFolder
    community: Path
    task: Path
    manifest: Manifest
    """The task's manifest."""
    at_deadline: bool
    """Whether rows without a time get the deadline's."""

    def write(
        self, folder: Path, metrics: Mapping[str, Direction], now: datetime, report: Callable[[str], None]
    ) -> ImportCounts:
        """Write the snapshot into an empty folder.

        Args:
            folder: the empty folder.
            metrics: the metrics that can be computed, by name, and the direction of each.
            now: the time of the import.
            report: receives a line on the progress.

        Raises:
            OSError: something cannot be read or written.
            SnapshotError: the result is not a valid snapshot.
        """
        link_files(self.task, folder, _of_task, _ticker("files of the task", report))
        deadline = self.manifest.deadline if self.at_deadline else None
        writer = CommunityWriter(self.community, folder, self.source.slug, deadline)
        counts = writer.write(self.manifest.metric.direction == "minimize", _ticker("texts", report))
        self._write_manifest(folder, counts, now)
        report("checking")
        Snapshot.load(folder, metrics)
        return counts

    def _write_manifest(self, folder: Path, counts: ImportCounts, now: datetime) -> None:
        content: dict[str, Any] = json.loads((self.task / MANIFEST).read_text(encoding="utf-8"))
        hashes = content.get("sha256", {})
        content["sha256"] = {name: value for name, value in hashes.items() if _of_task(name)}
        content["sources"] = [*content.get("sources", []), *_sources(counts, self.at_deadline)]
        content["collected_at"] = iso(now.replace(microsecond=0))
        content.pop("dated_at_deadline", None)
        if self.at_deadline:
            content["dated_at_deadline"] = counts.undated.model_dump()
        (folder / MANIFEST).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _of_task(name: str) -> bool:
    """Whether a file of the task's snapshot goes unchanged into the new one."""
    first = name.split("/")[0]
    return first not in (COMMUNITY, MANIFEST) and not first.startswith(".")


def _sources(counts: ImportCounts, at_deadline: bool) -> list[str]:
    undated = f"{counts.undated.topics} topics, {counts.undated.messages} messages and {counts.undated.kernels} kernels"
    dated = (
        "were given the deadline as theirs (`source` names them)" if at_deadline else "are never shown under a clock"
    )
    return [
        f"{IMPORTED}; votes and scores as of an unknown day, before `collected_at`",
        f"MLE-Live keeps no times of comments: {undated} without one {dated}",
    ]


def _ticker(what: str, report: Callable[[str], None]) -> Callable[[int], None]:
    def tick(done: int) -> None:
        if done % _EVERY == 0:
            report(f"{done:,} {what}")

    return tick
