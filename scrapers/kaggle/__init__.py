"""Kaggle's official interface: a careful client. It never reads the website, and never posts, votes or joins."""
