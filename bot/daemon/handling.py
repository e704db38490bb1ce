"""Handling: who does a kind of task, and what comes of one try; whatever is raised ends here."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from state.errors import Retry, StateUnavailable
from state.tasks import Task

__all__ = ["Handler", "Outcome", "attempt"]


@dataclass(frozen=True)
class Handler:
    """Who does the tasks of one kind, and within which bounds."""

    run: Callable[[Task], Awaitable[None]]
    """Does one; as the process may die in the middle, it may be called again for the same. Returns when it is done; raises
    `Retry` to say when to try again, or whatever else where it failed. The row is to be read only."""
    at_once: int = 1
    """How many of the kind."""
    one_a_competition: bool = True
    """Whether no two of the kind and of one competition are done at once."""
    longest: float = 600.0
    """Real seconds after which a try is broken off."""
    tries: int = 5
    """How many may fail before a task is given up."""

    def __post_init__(self) -> None:
        if self.at_once < 1 or self.tries < 1 or not self.longest > 0:
            raise ValueError("a handler does at least one task at once, tries at least once, and has time")


@dataclass(frozen=True)
class Outcome:
    """What came of a try."""

    kind: Literal["done", "failed", "later", "released"]
    """later: to be tried again for a reason that is no failure; released: broken off, as the workers stop."""
    error: BaseException | None = None
    seconds: float | None = None
    """After how many of the bot's clock to try again; None: as after a failure."""
    counted: bool = True
    """Whether it is one of the tries after which the task is given up."""


async def attempt(handler: Handler, task: Task, is_stopping: Callable[[], bool]) -> Outcome:
    """Try to do a task; whatever the handler raises is an outcome.

    Args:
        handler: who does it.
        task: what to do.
        is_stopping: whether it is the workers' end that cancels it.
    """
    try:
        async with asyncio.timeout(handler.longest) as limit:
            await handler.run(task)
    except asyncio.CancelledError as error:
        return Outcome("released") if is_stopping() else Outcome("failed", error)
    except Retry as error:
        return Outcome("later", error, max(0.0, error.seconds), error.counted)
    except StateUnavailable as error:
        # The database's trouble is not the task's: it waits, however long that lasts.
        return Outcome("later", error, counted=False)
    except TimeoutError as error:
        if not limit.expired():
            return Outcome("failed", error)
        slow = TimeoutError(f"it took longer than {handler.longest:g} s")
        slow.__cause__ = error
        return Outcome("failed", slow)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A supervision boundary. SystemExit too, which a library may raise (kaggle does): it would end the event loop.
        return Outcome("failed", error)
    return Outcome("done")
