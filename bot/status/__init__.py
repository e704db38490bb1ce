"""How things stand now: of the daemon, its competitions, and runs."""
