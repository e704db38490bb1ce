"""Execution: a run's folder, what its scripts may use and hold, and how they are run and watched."""
