"""Leaderboard: a live competition's board and our submissions, as last polled."""
