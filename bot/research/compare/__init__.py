"""Comparing finished replays: who is better, and how surely."""
