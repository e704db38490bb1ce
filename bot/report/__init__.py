"""Report: what a finished run leaves, live or replayed: its result, its exports and its page."""
