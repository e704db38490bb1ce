"""Grading against a snapshot's answers and leaderboard as MLE-bench does, and finding which metric a grader computes."""
