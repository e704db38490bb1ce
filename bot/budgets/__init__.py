"""Budgets: spending limits by kind, counted at nested levels, and reserved before spending."""
