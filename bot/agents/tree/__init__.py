"""The tree search: draft, debug, improve, one script at a time; AIDE is it with its own settings."""
