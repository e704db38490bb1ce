"""The token of the page, and the address that holds it."""

import os
import secrets
from contextlib import suppress
from pathlib import Path

TOKEN = "web-token"  # noqa: S105 - the name of its file
"""The file of the token, in the daemon's folder; only its owner can read it."""


def read_token(folder: Path) -> str:
    """Return the token of a daemon's folder, made at the first call, so that a page that is open stays so after a restart.

    Raises OSError: it cannot be read, or written.
    """
    path = folder / TOKEN
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        # Linked once it is whole: another process that starts now must not read a part of it.
        partial = path.with_suffix(f".{os.getpid()}")
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(secrets.token_urlsafe(24))
        with suppress(FileExistsError):
            path.hardlink_to(partial)
        partial.unlink()
    return path.read_text(encoding="ascii").strip()


def address_of(host: str, port: int, token: str) -> str:
    """Return the address that opens the page."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/?token={token}"
