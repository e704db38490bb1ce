"""Scrapers: where posts, task cards and data come from: a snapshot, an import, or Kaggle."""
