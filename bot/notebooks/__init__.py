"""Notebooks that Kaggle runs: their text, the files they predict with, and the package that is pushed."""
