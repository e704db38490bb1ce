"""Logs: one line per message, for people or programs, without secrets, to a stream, the journal or a rotating file."""

from bot.logs.setup import LogFormat, Logs, open_logging

__all__ = ["LogFormat", "Logs", "open_logging"]
