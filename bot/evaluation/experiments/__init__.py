"""Experiments: scored from arrays of predictions, in the worker."""
