"""The tree search: draft, debug, improve, one script at a time; AIDE has its own settings."""
