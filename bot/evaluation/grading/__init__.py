"""Grading against a snapshot's answers and leaderboard as in MLE-bench, and identifying the metric that a grader computes."""
