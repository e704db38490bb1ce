"""Graders: competitions' own `grade.py`, run in a process of its own under limits, and graders that a model writes."""
