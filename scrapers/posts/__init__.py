"""Posts: where they come from, how they are cleaned, which of them repeat others, and their way into the store."""
