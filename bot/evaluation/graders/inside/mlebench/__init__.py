"""The names of MLE-bench's package that its competitions' graders import, by the interface and not by its code."""
