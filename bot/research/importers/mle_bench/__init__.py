"""Prepared MLE-bench competitions as snapshots.

Source of the layout: openai/mle-bench at commit 783b15a: `<data>/<id>/prepared/{public,private}`, and in its repository
`mlebench/competitions/<id>/{config.yaml,grade.py,leaderboard.csv,description.md}`.
"""
