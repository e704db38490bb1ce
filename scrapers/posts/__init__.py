"""Posts: where they come from, how they are cleaned, which of them repeat others, and their way into the store."""

__all__ = ["SOURCES"]

SOURCES: list[str] = [
    # "scrapers.posts.name:posts",
]
"""Further sources of posts in a snapshot: each a function that gets its folder `community/` and its competition, and yields
a `scrapers.posts.ingest.Raw` for each row, none where the folder has nothing of its kind."""
