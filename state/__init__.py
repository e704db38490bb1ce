"""State: tables, steps and events, as-of queries, and what all packages share."""
