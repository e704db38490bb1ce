"""The dependency graph of a run: what went into what."""
