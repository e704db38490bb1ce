"""Budgets: what may be spent on what, counted at nested levels, and reserved before it is spent."""
