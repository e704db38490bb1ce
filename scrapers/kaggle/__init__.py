"""Kaggle's official interface: a careful client. Nothing of the website is read, and nothing is posted, voted or joined."""
