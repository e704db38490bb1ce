"""The bot as a service of systemd: its files, how they come to a machine and leave it again."""
