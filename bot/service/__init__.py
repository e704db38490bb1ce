"""The bot as a systemd service: its files, and what systemd says of it."""
