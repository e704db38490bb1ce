"""A worker process, as the tests of submissions share one."""

from tests.bot.submission.conftest import worker

__all__ = ["worker"]
