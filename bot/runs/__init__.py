"""Runs: what every run has, live or replayed: its folder, its budget, its stopwatch, its services."""
