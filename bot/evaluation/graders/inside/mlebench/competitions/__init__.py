"""The names that graders import from MLE-bench's `competitions`."""
