"""The watchdog: systemd is told that the daemon is alive only where it has proved so, never by a timer alone."""

import asyncio
from collections.abc import Callable

from bot.daemon.systemd import Systemd
from bot.status.presence import PULSE
from state.errors import StateUnavailable
from state.pulses import write_pulse
from state.store import Store

_INTERVAL = 60.0
"""Real seconds between two proofs where nobody waits for them."""


class Watchdog:
    """Proves again and again that the daemon works, and lets systemd know.

    The proof is that the event loop comes to it at all, that the database takes a write, and that the workers have
    looked for work. Where it is wanting nothing is sent but what is wrong, and it is tried again soon: systemd ends a daemon that
    does not get well, and starts it anew.
    """

    def __init__(
        self,
        systemd: Systemd,
        store: Store,
        turns: Callable[[], int],
        status: Callable[[], str],
    ) -> None:
        """Make it; `run` runs it.

        Args:
            systemd: whom to tell, and how often; it is told twice in the time that it waits.
            store: must take a write; the pulse `daemon` is what is written, with the status.
            turns: returns how often the workers have looked for work, which must grow between two pings.
            status: returns one line that says what the daemon does.
        """
        self._systemd, self._store, self._turns, self._status = systemd, store, turns, status
        self._seen = turns()
        seconds = systemd.watchdog_seconds
        self.interval = seconds / 2 if seconds else _INTERVAL
        """Real seconds between two pings."""

    async def run(self) -> None:
        """Prove and ping until cancelled."""
        rest = self.interval / 4
        while True:
            await asyncio.sleep(rest)
            rest = self.interval if self.ping() else self.interval / 4

    def ping(self) -> bool:
        """Tell systemd that the daemon is alive, if it is; returns whether it is."""
        if wanting := self._wanting():
            self._systemd.status(f"not well: {wanting}")
            return False
        self._seen = self._turns()
        self._systemd.watchdog(self._status())
        return True

    def _wanting(self) -> str:
        """Return what there is no proof of, nothing if all is well."""
        if self._turns() <= self._seen:
            return "the workers stand still"
        try:
            # What it proves is that the file can be written to; a power cut may forget it.
            with self._store.write(durable=False) as tx:
                write_pulse(tx, PULSE, self._status())
        except StateUnavailable as error:
            return str(error)
        return ""
