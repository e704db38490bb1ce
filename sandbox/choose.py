"""Choosing a back end by name, or the best that works here."""

from sandbox import BackEnd, BackEndChoice, Sandbox
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.environments import Environment
from sandbox.execution import LocalSandbox
from sandbox.process import ProcessSandbox
from sandbox.settings import SandboxSettings
from state.errors import UsageError

BACK_ENDS: dict[BackEnd, type[LocalSandbox]] = {
    "docker": DockerSandbox,
    "bubblewrap": BubblewrapSandbox,
    "process": ProcessSandbox,
}
"""All kinds, those that contain more first."""


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
        instance: See `LocalSandbox`, as for the next two.
        settings: Of the sandbox.
        environment: Whose packages scripts run with.

    Raises:
        UsageError: It cannot be had; the text says what to install, allow or pass.
    """
    problems = []
    for kind, back_end in BACK_ENDS.items():
        if name == kind or (name == "auto" and (trusted or kind != "process")):
            sandbox = back_end(instance, settings, environment)
            problem = sandbox.problem()
            if problem is None:
                return sandbox
            problems.append(problem)
    raise UsageError(f"{' '.join(problems)} Mend that, or pass another --sandbox; --sandbox process contains nothing.")
