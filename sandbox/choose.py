"""Choosing a back end by name, or the best that works here."""

from sandbox import BackEndChoice, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.environments import Environment
from sandbox.process import ProcessSandbox
from sandbox.settings import SandboxSettings
from state.errors import UsageError

__all__ = ["choose"]


def choose(
    name: BackEndChoice,
    *,
    trusted: bool,
    instance: str = "bot",
    settings: SandboxSettings | None = None,
    environment: Environment | None = None,
) -> Sandbox:
    """Return a back end that works here.

    Args:
        name: Of a back end, or `auto`: the first that works.
        trusted: Whether all code comes from the built-in model, which alone may do without isolation unasked.
        instance: Of the bot: what it starts is known by it again after a crash.
        settings: Which image and which runtime.
        environment: Whose packages scripts run with; None: the bot's own, or the image's.

    Raises:
        UsageError: It cannot be had; the text says what to install, allow or pass.
    """
    if name == "process":
        return ProcessSandbox(environment)
    if name != "bubblewrap":
        container = DockerSandbox(instance, settings, environment)
        problem = container.problem()
        if problem is None:
            return container
        if name == "docker":
            raise UsageError(f"{problem} Mend that, or pass --sandbox bubblewrap.")
    sandbox = BubblewrapSandbox(environment)
    problem = sandbox.problem()
    if problem is None:
        return sandbox
    if name == "auto" and trusted:
        return ProcessSandbox(environment)
    raise UsageError(f"{problem} Mend that, or pass --sandbox process, which contains nothing.")
