"""Meta Kaggle, Kaggle's own export of its tables: snapshots of past competitions with the communities that they had."""
