"""Messages to systemd about the daemon, by the protocol of sd_notify(3); without systemd nothing is sent."""

import logging
import os
import socket
import time
from collections.abc import Mapping
from typing import Self

_LOG = logging.getLogger(__name__)
_SEND_SECONDS = 1.0
_ENDING_SECONDS = 120
"""Longer than the unit's TimeoutStopSec."""
_MAX_STATUS_CHARACTERS = 200


class Systemd:
    """Sends datagrams to systemd's socket; one that cannot be sent is only logged."""

    def __init__(self, address: str | None = None, watchdog_seconds: float | None = None) -> None:
        """Set the socket's address.

        The address is a path, or `@` and an abstract name; None: nothing is sent. The watchdog's time is that without a
        ping after which systemd ends the process; None: never.
        """
        self._address = address
        self.watchdog_seconds = watchdog_seconds

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Read the variables `NOTIFY_SOCKET`, `WATCHDOG_USEC`, and `WATCHDOG_PID`, the process that it is meant for."""
        address = environment.get("NOTIFY_SOCKET")
        microseconds = environment.get("WATCHDOG_USEC", "")
        is_ours = environment.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        seconds = int(microseconds) / 1e6 if microseconds.isdecimal() and int(microseconds) and is_ours else None
        if not address or address[0] not in "/@":
            return cls()
        return cls(address, seconds)

    def ready(self, status: str = "") -> None:
        """Report that all is up, or that a reload is done."""
        self._send("READY=1", self._line(status))

    def status(self, text: str) -> None:
        """Report in one line what is being done; a long line is cut."""
        self._send(self._line(text))

    def reloading(self) -> None:
        """Report that the configuration is being read again, until `ready`."""
        microseconds = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={microseconds}")

    def stopping(self, status: str = "") -> None:
        """Report that the daemon is ending; from now on the unit's TimeoutStopSec ends one that hangs, not the watchdog.

        Pings stop during the shutdown, so the watchdog would take the daemon for hung.
        """
        watchdog = "" if self.watchdog_seconds is None else f"WATCHDOG_USEC={_ENDING_SECONDS * 1_000_000}"
        self._send("STOPPING=1", watchdog, self._line(status))

    def watchdog(self, status: str = "") -> None:
        """Report that the daemon is alive; the next report is due within `watchdog_seconds`."""
        self._send("WATCHDOG=1", self._line(status))

    @staticmethod
    def _line(text: str) -> str:
        words = " ".join(text.split())[:_MAX_STATUS_CHARACTERS]
        return f"STATUS={words}" if words else ""

    def _send(self, *lines: str) -> None:
        if self._address is None:
            return
        # An abstract name begins with a zero byte, which no variable can hold.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        message = "\n".join(line for line in lines if line).encode(errors="replace")
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
                sender.settimeout(_SEND_SECONDS)
                sender.sendto(message, address)
        except OSError as error:
            _LOG.warning("cannot send %r to systemd: %s", lines[0], error)
