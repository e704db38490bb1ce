"""The commands of the simulator, each declared in pyproject.toml as an entry point of the group `bot.commands`."""
