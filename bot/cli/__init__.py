"""The command line: `bot` and its subcommands."""

import sys

from bot.cli.app import app
from state.errors import BotError, ConfigurationError, SnapshotError

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line: errors of ours become one sentence on stderr and the exit status 2."""
    try:
        app()
    except (SnapshotError, ConfigurationError) as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        sys.exit(2)
    except BotError as error:
        print(f"bot: {error}", file=sys.stderr)
        sys.exit(2)
