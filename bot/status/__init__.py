"""Looking in: what a daemon's database says, read while the daemon runs."""
