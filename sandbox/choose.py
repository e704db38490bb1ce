"""Choosing a back end by name, or the best that works here."""

import shutil

from sandbox import Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.process import ProcessSandbox
from state.errors import UsageError

__all__ = ["choose"]


def choose(name: str, *, trusted: bool) -> Sandbox:
    """Return a back end that works here.

    Args:
        name: `auto`, `bubblewrap`, `process` or `docker`.
        trusted: Whether all code comes from the built-in model, which alone may do without isolation unasked.

    Raises:
        UsageError: It cannot be had; the text says what to install, allow or pass.
    """
    if name == "process":
        return ProcessSandbox()
    if name == "docker":
        raise UsageError("The docker sandbox is not available yet in this version; pass --sandbox bubblewrap.")
    if name not in {"auto", "bubblewrap"}:
        raise UsageError(f"There is no sandbox named {name!r}: pass auto, bubblewrap or process.")
    if name == "bubblewrap" and shutil.which("bwrap") is None:
        raise UsageError("bwrap is not installed: install the Debian package bubblewrap, or pass --sandbox process.")
    sandbox = BubblewrapSandbox()
    problem = sandbox.problem()
    if problem is None:
        return sandbox
    if name == "auto" and trusted:
        return ProcessSandbox()
    raise UsageError(f"{problem} Mend that, or pass --sandbox process, which contains nothing.")
