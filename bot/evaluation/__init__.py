"""Evaluation: views of the data, the official metrics, grading, and the worker process they run in.

Heavy modules (numpy, scikit-learn) are imported by the worker process alone; the bot's own process uses `client`, `answers`,
`batches` and `metrics.registry`, which need neither.
"""
