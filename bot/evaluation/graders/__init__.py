"""Competitions' own `grade.py`, each run in a process of its own under limits."""

from typing import Literal

GraderKind = Literal["registry", "competition"]
"""The source of a score: a metric of ours, or the competition's own grade.py."""
