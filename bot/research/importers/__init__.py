"""Importers, which turn past competitions on disk in other formats into snapshots.

One that makes a snapshot from a folder is an entry point of the group `bot.importers` in pyproject.toml, and a command
`bot snapshot import NAME`: a function that gets the folder, and an empty one to fill; on failure it raises SnapshotError,
UsageError or OSError. Those that make many at once and have options of their own have their commands in `bot/research/cli/`.
"""
