"""Logs: one line a message, for people or for programs, without a secret, to a stream, the journal or a rotating file."""

from bot.logs.setup import LogFile, LogFormat, Logs, open_logging

__all__ = ["LogFile", "LogFormat", "Logs", "open_logging"]
