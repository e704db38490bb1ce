"""The program of a session's kernel. It runs inside the sandbox, where nothing of ours can be imported."""

import json
import os
import socket
import time
from pathlib import Path
from typing import Any

LARGEST_TEXT = 100_000
"""Characters of one text in one message: far below what the host accepts as a message."""
_PUBLISHED = ("stream", "display_data", "update_display_data", "execute_result", "error")


def bounded(value: Any) -> Any:
    """Return it with the middle of each long text cut; an image, which is one long text, becomes its size."""
    if isinstance(value, str) and len(value) > LARGEST_TEXT:
        half = LARGEST_TEXT // 2
        return f"{value[:half]}\n[... {len(value) - 2 * half} characters cut ...]\n{value[-half:]}"
    if isinstance(value, dict):
        return {key: _size(inner) if str(key).startswith("image/") else bounded(inner) for key, inner in value.items()}
    return [bounded(inner) for inner in value] if isinstance(value, list) else value


def _size(image: Any) -> str:
    """Return the size of an image in base64, or of what is text (SVG)."""
    text = str(image).strip()
    whole = len(text) % 4 == 0 and text.isascii() and " " not in text
    return f"{len(text) // 4 * 3 - text[-2:].count('=') if whole else len(text)} bytes"


def main() -> None:
    """Serve cells on unix sockets in a folder of the working folder until asked to stop."""
    from ipykernel.kernelapp import IPKernelApp
    from jupyter_client.session import Session

    class BoundedSession(Session):
        def serialize(self, msg: dict[str, Any], ident: Any = None) -> list[bytes]:
            if msg["header"]["msg_type"] in _PUBLISHED:
                msg = {**msg, "content": bounded(msg["content"])}
            return super().serialize(msg, ident)

    settings = json.loads(os.environ.pop("BOT_SESSION"))
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    folder = Path(settings["folder"])
    folder.mkdir()
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)  # an interrupt then reaches what a cell has started
    mask = os.umask(0)  # the host may be another user, and may come in
    # The first process as its parent: nothing to watch, and no advice on Ctrl-C and further clients is printed.
    file = str(folder.absolute() / "c.json")
    app: Any = IPKernelApp.instance(transport="ipc", ip=str(folder / "s"), connection_file=file, parent_handle=1)
    for port, channel in enumerate(("shell", "iopub", "stdin", "control", "hb"), 1):
        setattr(app, f"{channel}_port", port)
    app.session = BoundedSession(parent=app, key=settings["key"].encode())
    app.initialize(settings["options"])
    os.umask(mask)
    _wait_for_heart(str(folder / "s-5"))
    (folder / "ready").touch()
    app.start()


def _wait_for_heart(path: str) -> None:
    """Return once the heart's own thread listens."""
    with socket.socket(socket.AF_UNIX) as probe:
        while probe.connect_ex(path) != 0:
            time.sleep(0.005)


if __name__ == "__main__":
    main()
