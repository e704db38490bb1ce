"""One live competition at work."""
