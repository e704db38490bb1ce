"""The lines of the daemon's log on its competitions."""

from collections.abc import Callable

from structlog.stdlib import BoundLogger


def sayer(log: BoundLogger) -> Callable[[str, str], None]:
    """Return a function that logs a line for a competition, or for none (empty)."""

    def say(competition: str, line: str) -> None:
        (log.bind(competition=competition) if competition else log).info(line)

    return say
