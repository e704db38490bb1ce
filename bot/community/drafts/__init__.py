"""Drafts: how they are planned, and the report on each closed one."""
