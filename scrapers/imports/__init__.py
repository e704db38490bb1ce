"""Imports: snapshots made of what other projects prepared."""
