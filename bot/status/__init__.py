"""Status: what a daemon's database holds, read while the daemon runs."""
