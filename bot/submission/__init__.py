"""Submission: which file is handed in, and why."""
