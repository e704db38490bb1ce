"""Posts: their sources, cleaning, detection of duplicates, and storage."""
