"""The probe: what Kaggle really answers, held against what the bot assumes of it."""
