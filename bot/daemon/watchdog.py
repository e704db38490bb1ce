"""The watchdog: it reports to systemd that the daemon is alive only after a proof, never by a timer alone."""

import asyncio
from collections.abc import Callable

from bot.daemon.systemd import Systemd
from bot.status.presence import PULSE
from state.errors import StateUnavailable
from state.store import Store
from state.tables import Heartbeat

_INTERVAL = 60.0
"""Real seconds between two proofs if systemd does not wait for them."""


class Watchdog:
    """Proves again and again that the daemon works, and reports it to systemd.

    The proof is that the event loop gets round to it at all, that the database takes a write, and that the workers have
    looked for work. If it fails, only a status line is sent, and it is tried again soon: systemd restarts a daemon that
    does not recover.
    """

    def __init__(self, systemd: Systemd, store: Store, turns: Callable[[], int], status: Callable[[], str]) -> None:
        """Set it up; `run` runs it.

        `systemd` receives two pings within its watchdog time. The store must take a write: the pulse `daemon`, with the
        status. `turns` returns how often the workers have looked for work, which must grow between two pings.
        """
        self._systemd, self._store, self._turns, self._status = systemd, store, turns, status
        self._seen = turns()
        seconds = systemd.watchdog_seconds
        self.interval = seconds / 2 if seconds else _INTERVAL
        """Real seconds between two pings."""

    async def run(self) -> None:
        """Prove and ping until cancelled."""
        pause = self.interval / 4
        while True:
            await asyncio.sleep(pause)
            pause = self.interval if self.ping() else self.interval / 4

    def ping(self) -> bool:
        """Report to systemd that the daemon is alive, if it is; returns whether it is."""
        failure = "the workers have stopped" if self._turns() <= self._seen else ""
        try:
            if not failure:
                # It proves that the file can be written to; a power cut may undo the write.
                with self._store.write(durable=False) as tx:
                    tx.session.merge(Heartbeat(name=PULSE, at=tx.now(), text=self._status()))
        except StateUnavailable as error:
            failure = str(error)
        if failure:
            self._systemd.status(f"unhealthy: {failure}")
            return False
        self._seen = self._turns()
        self._systemd.watchdog(self._status())
        return True
