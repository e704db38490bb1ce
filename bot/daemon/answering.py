"""Answering `bot status` from the daemon, which need not load first what reads its database."""

import json
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socketserver import StreamRequestHandler, UnixStreamServer
from typing import Any

from bot.status.asking import SOCKET, Question, address, addressee, as_line
from state.store import Store

Look = Callable[[Store, Question], dict[str, Any]]
"""Returns what is to be shown."""

_LOG = logging.getLogger(__name__)
_SECONDS = 1.0
"""That who asks may take."""
_LONGEST = 100_000
"""Bytes of a question."""


@contextmanager
def answering(store: Store, look: Look) -> Iterator[None]:
    """Answer this user, and root, at a socket beside the database while this lasts; to be called by who holds the daemon's lock.

    A thread answers one question after the other, also while the event loop is busy. Where there can be no such socket the
    daemon goes on without: whoever asks reads the database.
    """
    path = store.path.with_name(SOCKET)
    try:
        path.unlink(missing_ok=True)
        with address(path.parent) as at:
            server = _Server(at, store, look)
    except OSError as error:
        _LOG.warning("`bot status` takes longer, as it cannot be answered at %s: %s", path, error.strerror)
        yield
        return
    thread = threading.Thread(target=server.serve_forever, name="status", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        path.unlink(missing_ok=True)


class _Server(UnixStreamServer):
    def __init__(self, at: str, store: Store, look: Look) -> None:
        self.store, self.look = store, look
        super().__init__(at, _Asked)

    def server_activate(self) -> None:
        # Before it listens, so that nobody else can connect in between.
        Path(str(self.server_address)).chmod(0o600)
        super().server_activate()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # Without an answer the database is read, by what then says what is wrong.
        _LOG.info("a question of `bot status` is not answered: %s", sys.exception())


class _Asked(StreamRequestHandler):
    server: _Server
    timeout = _SECONDS

    def handle(self) -> None:
        asked, server = json.loads(self.rfile.readline(_LONGEST)), self.server
        if asked["to"] != addressee(server.store.path.parent):
            raise ValueError("it is for another folder or version")
        self.wfile.write(as_line(server.look(server.store, Question(**asked["question"]))))
