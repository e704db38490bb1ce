"""Benchmarks, run on demand."""
