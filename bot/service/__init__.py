"""The bot as a systemd service: its files, how they are installed and removed."""
