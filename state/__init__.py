"""State: tables, migrations, steps and events, as-of queries, and what all packages share."""
