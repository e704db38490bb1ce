"""The daemon's log, as configured."""

from collections.abc import Callable
from typing import TextIO

from structlog.stdlib import BoundLogger

from bot.configuration.daemon import DaemonSettings
from bot.logs import LogFile, Logs, open_logging
from state.errors import UsageError
from state.redaction import Redactor


def open_log(settings: DaemonSettings, redactor: Redactor, stream: TextIO) -> Logs:
    """Send this process's log where the configuration names; call it once, in the daemon's main.

    Raises:
        UsageError: the configured file cannot be written.
    """
    path = settings.log_file
    file = LogFile(path, int(settings.log_file_mb * 1e6), settings.log_files) if path else None
    try:
        return open_logging(settings.log_format, stream, redactor, file=file)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UsageError(
            f"log_file under [daemon] in bot.toml: {settings.log_file} cannot be written: {reason}"
        ) from error


def sayer(log: BoundLogger) -> Callable[[str, str], None]:
    """Return a function that logs a line for a competition, or for none (empty)."""

    def say(competition: str, line: str) -> None:
        (log.bind(competition=competition) if competition else log).info(line)

    return say
