"""Posts: their sources, cleaning, detection of duplicates, and storage."""

__all__ = ["SOURCES"]

SOURCES: list[str] = [
    # "scrapers.posts.name:posts",
]
"""Further sources of posts in a snapshot: each a function that gets the folder `community/` and the competition, and yields
a `scrapers.posts.ingest.Raw` for each row, or nothing if the folder has nothing of its kind."""
