"""Real receivers on loopback, which behave as a script says: a mail server, and a site that takes web hooks."""

import base64
import json
import socket
import socketserver
import threading
from collections.abc import Sequence
from contextlib import suppress
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal, cast

from tests.loopback import Loopback, body_of, http_server

LONGEST = 30.0
"""Seconds after which a stalled answer is given up, so that a failing test ends."""

Behaviour = Literal["take", "take, cut", "take, stall", "500", "429", "404", "stall", "cut"]
"""What is done with a message, and, after a comma, with its answer."""


class Receiver(Loopback):
    """A server whose script decides each message's fate; what follows the script is taken."""

    def __init__(self, server: socketserver.ThreadingTCPServer, script: Sequence[Behaviour]) -> None:
        super().__init__(server)
        self._script = list(script)
        self._lock = threading.Lock()

    def next(self) -> Behaviour:
        with self._lock:
            return self._script.pop(0) if self._script else "take"


class HookSite(Receiver):
    """Takes POSTs of JSON; keeps what it took, and under which path."""

    def __init__(self, script: Sequence[Behaviour] = ()) -> None:
        super().__init__(http_server(post=self._take), script)
        self.took: list[dict[str, Any]] = []
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        return f"json://127.0.0.1:{self.port}"

    def _take(self, request: BaseHTTPRequestHandler) -> None:
        content = json.loads(body_of(request))
        first, _, answer = self.next().partition(", ")
        if first == "take":
            self.took.append(content)
            self.paths.append(request.path)
        how = answer or first
        if how == "cut":
            request.connection.shutdown(socket.SHUT_RDWR)
        elif how == "stall":
            self.closing.wait(LONGEST)
        else:
            request.send_response(200 if how == "take" else int(how))
            if how == "429":
                request.send_header("Retry-After", "120")
            # Slack's words; what an error page repeats of a request must not come into ours.
            said = b"ok" if how == "take" else f"no: {request.path}".encode()
            request.send_header("Content-Length", str(len(said)))
            request.end_headers()
            request.wfile.write(said)


class MailServer(Receiver):
    """Speaks as much of SMTP (RFC 5321) as it takes to receive a mail, and accepts or refuses AUTH PLAIN and LOGIN."""

    def __init__(self, script: Sequence[Behaviour] = (), *, user: tuple[str, str] | None = None) -> None:
        mail = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                _Talk(mail, self).hold()

        super().__init__(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler), script)
        self.took: list[EmailMessage] = []
        self.user = user

    @property
    def url(self) -> str:
        who = "" if self.user is None else f"{self.user[0]}:{self.user[1]}@"
        return f"mailto://{who}localhost:{self.port}/?smtp=127.0.0.1&mode=insecure&from=bot@example.org&to=owner@example.org"


class _Talk:
    """One connection to the mail server."""

    def __init__(self, mail: MailServer, handler: socketserver.StreamRequestHandler) -> None:
        self._mail = mail
        self._handler = handler

    def hold(self) -> None:
        self._say("220 localhost ESMTP")
        while line := self._handler.rfile.readline():
            command = line.decode("ascii", "replace").strip()
            if not self._answer(command):
                return

    def _answer(self, command: str) -> bool:
        """Answer a command; returns whether the talk goes on."""
        verb = command.split(" ")[0].upper()
        if verb == "EHLO":
            self._say("250-localhost", "250-8BITMIME", "250 AUTH PLAIN LOGIN")
        elif verb == "AUTH":
            self._say(self._let_in(command))
        elif verb == "DATA":
            return self._data()
        elif verb == "QUIT":
            self._say("221 bye")
            return False
        else:
            self._say("250 ok" if verb in ("HELO", "MAIL", "RCPT", "RSET", "NOOP") else "502 what?")
        return True

    def _let_in(self, command: str) -> str:
        parts = command.split(" ")
        if len(parts) < 3 or self._mail.user is None:
            return "504 PLAIN in one line alone"
        _, user, password = base64.b64decode(parts[2]).decode().split("\0")
        return "235 welcome" if (user, password) == self._mail.user else f"535 {user}:{password} is nobody"

    def _data(self) -> bool:
        behaviour = self._mail.next()
        first, _, answer = behaviour.partition(", ")
        if first == "cut":
            self._handler.connection.shutdown(socket.SHUT_RDWR)
            return False
        self._say("354 go on")
        lines = []
        while (line := self._handler.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line[1:] if line.startswith(b"..") else line)
        if first == "take":
            self._mail.took.append(cast(EmailMessage, message_from_bytes(b"".join(lines), policy=policy.default)))
        return self._end(answer or first)

    def _end(self, how: str) -> bool:
        if how == "cut":
            self._handler.connection.shutdown(socket.SHUT_RDWR)
        elif how == "stall":
            self._mail.closing.wait(LONGEST)
        else:
            self._say("250 queued" if how == "take" else {"500": "554 no", "429": "451 later"}.get(how, "550 no"))
            return True
        return False

    def _say(self, *lines: str) -> None:
        # The client may have given up, which is what most of this is for.
        with suppress(OSError):
            self._handler.wfile.write("".join(f"{line}\r\n" for line in lines).encode())
