"""The command line: `bot` and its subcommands."""

import gc
import os
import sys

from bot.cli.app import app
from bot.cli.places import of_place
from state.errors import BotError, FileProblems
from state.own_keys import use_own_keys

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line: errors of ours become one sentence on stderr and the exit status 2."""
    # Imports create many objects and no garbage: collecting after every 700 would take a twelfth of the start.
    gc.set_threshold(50_000)
    use_own_keys(os.environ)
    try:
        app()
    except FileProblems as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        sys.exit(2)
    except BotError as error:
        print(f"bot: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if (sentence := of_place(error)) is None:
            raise
        print(f"bot: {sentence}", file=sys.stderr)
        sys.exit(2)
