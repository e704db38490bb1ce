"""The live task card: what a competition's fields, pages, tables and leaderboard agree on, or what its owner must say."""
