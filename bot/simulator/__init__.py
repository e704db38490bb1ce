"""The simulator: a local Kaggle that plays snapshots back, and what tries the bot's assumptions out; the bot runs without it."""
