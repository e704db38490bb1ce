"""The page: what a person looks at, from a desk or a phone, while the bot works."""
