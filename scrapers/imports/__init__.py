"""Importers, which turn past competitions on disk in other formats into snapshots."""

__all__ = ["IMPORTERS"]

IMPORTERS: dict[str, str] = {
    # "name": "scrapers.imports.name:lay_out",
}
"""Importers by name that make one snapshot from one folder; each is a command `bot snapshot import NAME`.

A function gets the folder, and an empty one to fill; on failure it raises SnapshotError, UsageError or OSError.
MLE-bench and MLE-Live, which make many at once and have options of their own, have their commands in `bot/cli/`.
"""
