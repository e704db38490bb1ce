"""Leaderboard: a live competition's board and our submissions, read back from what was polled."""
