"""Weights: pretrained models that the owner fetches once, by a list with hashes, and that scripts read."""
