"""Replay: a past competition under a clock, from the snapshot to the report."""
