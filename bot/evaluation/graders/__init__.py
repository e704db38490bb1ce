"""Competitions' own `grade.py`, each run in a process of its own under limits."""

from typing import Literal

GraderKind = Literal["registry", "competition"]
"""Who says what a score is: a metric of ours, or the competition's own grade.py."""
