"""Report: the files of a finished run, live or replayed: its result, its exports and its page."""
