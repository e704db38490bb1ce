"""A program that speaks to systemd as `bot run` does, and does nothing else: `stand_in.py --config FILE`."""

import argparse
import asyncio
import os
import signal
import socket
import sys
from pathlib import Path

from bot.configuration import read_settings
from scrapers.kaggle.credentials import find_credentials
from state.clock import SystemClock
from state.errors import ConfigurationError
from state.store import Store

EX_CONFIG = 78


def tell(*lines: str) -> None:
    """Send a datagram as of sd_notify(3)."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto("\n".join(lines).encode(), os.environ["NOTIFY_SOCKET"])


class Daemon:
    """A loop that works, and one that says so as long as it does."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.steps = 0
        self.stop = asyncio.Event()

    @property
    def status(self) -> str:
        """One line with what is configured, as of now."""
        return f"STATUS=competitions: {', '.join(read_settings(self.config).competitions) or 'none'}"

    async def work(self) -> None:
        """Make progress."""
        while True:
            self.steps += 1
            await asyncio.sleep(0.05)

    async def feed(self) -> None:
        """Feed the watchdog, but only where there was progress."""
        seen = -1
        while True:
            if self.steps > seen:
                tell("WATCHDOG=1")
            seen = self.steps
            await asyncio.sleep(int(os.environ["WATCHDOG_USEC"]) / 1e6 / 4)

    async def run(self) -> None:
        """Run until SIGTERM; SIGHUP reads the configuration anew."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop.set)
        loop.add_signal_handler(signal.SIGHUP, lambda: tell(self.status))
        tasks = [asyncio.create_task(self.work()), asyncio.create_task(self.feed())]
        tell("READY=1", self.status)
        await self.stop.wait()
        tell("STOPPING=1")
        for task in tasks:
            task.cancel()
        print("ended in order", flush=True)


def main() -> int:
    """Run; a configuration that is wrong is told line by line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path, required=True)
    config = parser.parse_args().config
    try:
        folder = read_settings(config).daemon.folder
    except ConfigurationError as error:
        print(error, file=sys.stderr)
        return EX_CONFIG
    find_credentials()
    with Store.open(folder / "bot.db", SystemClock()):
        asyncio.run(Daemon(config).run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
