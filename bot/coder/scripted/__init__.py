"""A scripted endpoint on loopback, which stands in for a model while a coding agent is tried out."""
