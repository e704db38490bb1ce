"""Claims: on one machine only one process works on a competition for an account, whatever its folder, file or user."""

import errno
import hashlib
import json
import socket
import sys
from collections.abc import Callable
from typing import Self

from scrapers.kaggle.credentials import Credentials, find_credentials
from state.errors import UsageError


class Claims:
    """The competitions that this process works on, each held until it is released or the process ends.

    A claim is an abstract unix socket whose name is a hash of site, account and competition: the kernel gives a name to
    only one process, whoever its user is, and frees it however the process ends. A lock file would be hidden by a service's
    own /tmp, and could not be opened by every user. Names are visible within one network namespace: two containers do not
    see each other's. Only Linux has such sockets; elsewhere nothing is held.
    """

    def __init__(self, site: str, find: Callable[[], Credentials] = find_credentials) -> None:
        """Set the site's address, as a rehearsal's claims are not Kaggle's, and the function that finds the account's key."""
        self._site = site.rstrip("/")
        self._find = find
        self._competitions: set[str] = set()
        self._held: dict[tuple[str, str], socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for competition in list(self._competitions):
            self.release(competition)

    def take(self, competition: str) -> None:
        """Claim a competition; while there is no key for Kaggle, it is claimed as soon as one is found.

        Raises UsageError: another process holds it.
        """
        try:
            account = self._find().account
        except UsageError:
            pass
        else:
            self._hold(account, competition)
        self._competitions.add(competition)

    def credentials(self) -> Credentials:
        """Find the account's key, and claim all competitions for that account, which may have changed.

        Raises UsageError: there is no key, or another process works on one of the competitions for that account.
        """
        credentials = self._find()
        for competition in self._competitions:
            self._hold(credentials.account, competition)
        return credentials

    def release(self, competition: str) -> None:
        """Let others work on a competition; does nothing if it is not held."""
        self._competitions.discard(competition)
        for key in [key for key in self._held if key[1] == competition]:
            self._held.pop(key).close()

    def _hold(self, account: str, competition: str) -> None:
        if sys.platform != "linux" or (account, competition) in self._held:
            return
        text = json.dumps([self._site.lower(), account, competition.lower()])
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0kaggle-bot/{hashlib.sha256(text.encode()).hexdigest()}")
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                raise UsageError(f"cannot lock {competition} on this machine: {error.strerror}") from error
            raise UsageError(
                f"another process is already working on {competition} for the same Kaggle account: stop it, or remove "
                f"[competitions.{competition}] from one of the two bot.toml files"
            ) from error
        self._held[account, competition] = claim
