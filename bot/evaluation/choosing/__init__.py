"""Comparing candidates on all rows that they were scored on, and choosing among them."""
