"""Past competitions that lie on a disk in other formats, made into snapshots."""

__all__ = ["IMPORTERS"]

IMPORTERS: dict[str, str] = {
    # "name": "scrapers.imports.name:lay_out",
}
"""By name, importers that make one snapshot of one folder; each is a command `bot snapshot import NAME`.

A function gets the folder, and an empty one that it fills; it raises SnapshotError, UsageError or OSError where that cannot be.
MLE-bench and MLE-Live, which make many at once and have options of their own, have their commands in `bot/cli/`.
"""
