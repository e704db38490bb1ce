"""A circuit breaker: after a failure no call goes through for a while, which doubles with each further failure."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from state.clock import Clock

INITIAL_COOLDOWN = 30.0
"""Seconds; a failed call has used up its own retries by then."""
MAX_COOLDOWN = 900.0


class Breaker:
    """Closed: all calls go through. Open: none, until the cooldown is over. Half-open: one goes through, and decides."""

    def __init__(
        self, clock: Clock, *, initial_cooldown: float = INITIAL_COOLDOWN, max_cooldown: float = MAX_COOLDOWN
    ) -> None:
        """Start closed; cooldowns are in seconds."""
        self._clock = clock
        self._initial_cooldown, self._max_cooldown = initial_cooldown, max_cooldown
        self._opened: datetime | None = None
        self._cooldown = 0.0
        self._openings = 0
        self._trying = False

    @property
    def closed(self) -> bool:
        """Whether nothing is known to be wrong."""
        return self._opened is None

    def admits(self) -> bool:
        """Return whether a call may go through now."""
        return not (self._opened and self._trying) and not self.remaining_seconds

    @property
    def remaining_seconds(self) -> float:
        """Seconds until a call may go through, unless another one is tried first."""
        if self._opened is None:
            return 0.0
        elapsed = (self._clock.now() - self._opened).total_seconds()
        # A clock that was set back must not lengthen the cooldown.
        return self._cooldown - elapsed if 0.0 <= elapsed < self._cooldown else 0.0

    @contextmanager
    def call(self) -> Iterator[int]:
        """Let a call through, admitted or not; the number it yields is to be passed to `fail`.

        Until it ends, with or without an error, it is the one call of a half-open breaker.
        """
        tries = self._opened is not None and not self._trying
        self._trying = self._trying or tries
        try:
            yield self._openings
        finally:
            if tries:
                self._trying = False

    def succeed(self) -> None:
        """Close: there was an answer."""
        self._opened, self._cooldown = None, 0.0

    def fail(self, call: int, *, lasting: bool = False, at_least: float = 0.0) -> None:
        """Open, or stay open, with twice the cooldown, or `at_least` the seconds that were asked for.

        A `lasting` failure, whose cause only a person can fix, takes the longest cooldown at once. The number is that from
        `call`: calls that were in progress when it opened change nothing.
        """
        if call != self._openings:
            return
        self._openings += 1
        self._opened = self._clock.now()
        seconds = self._max_cooldown if lasting else max(self._initial_cooldown, 2 * self._cooldown, at_least)
        self._cooldown = min(seconds, self._max_cooldown)
