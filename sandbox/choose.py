"""Choosing a back end by name, or the best that works here."""

from pkgutil import resolve_name

from sandbox import BACK_ENDS, BackEndChoice, Sandbox
from sandbox.environments import ScriptEnvironment
from sandbox.execution import LocalSandbox
from sandbox.settings import SandboxSettings
from state.errors import UsageError


def choose(
    name: BackEndChoice,
    *,
    trusted: bool,
    instance: str = "bot",
    settings: SandboxSettings | None = None,
    environment: ScriptEnvironment | None = None,
) -> Sandbox:
    """Return a back end that works here.

    With `auto` it is the first that works. `trusted`: all code comes from the built-in model, the only one that may run
    without isolation by default.

    Raises:
        UsageError: It is not available; the text names what to install, allow or pass.
    """
    problems = []
    for kind in BACK_ENDS if name == "auto" else (name,):
        back_end: type[LocalSandbox] = resolve_name(BACK_ENDS[kind])
        if name == kind or trusted or back_end.isolates:
            sandbox = back_end(instance, settings, environment)
            problem = sandbox.problem()
            if problem is None:
                return sandbox
            problems.append(problem)
    raise UsageError(f"{' '.join(problems)} Fix this, or choose another --sandbox (`process` provides no isolation).")
