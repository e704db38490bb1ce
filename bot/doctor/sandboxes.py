"""Checks of the sandboxes: bubblewrap, the Docker engine and its image."""

from collections.abc import Mapping
from typing import Any

from bot.doctor import Check
from sandbox import SandboxDescription
from sandbox.bubblewrap import BubblewrapSandbox
from sandbox.docker import DockerSandbox
from sandbox.environments import Environment, chosen_environment
from sandbox.image.engine import ENGINE_FAILURES, connect, say
from sandbox.process import ProcessSandbox
from sandbox.settings import SandboxSettings
from state.errors import UsageError


def check_environment(settings: SandboxSettings) -> tuple[Check, Environment | None]:
    """Check the environment with the packages that scripts run with."""
    try:
        environment = chosen_environment(settings.environments_folder, settings.environment)
    except UsageError as error:
        name = settings.environment
        return Check(
            "environment", "fails", str(error), f"bot env create {name}, or another name under [sandbox]"
        ), None
    if environment is None:
        found = "none: scripts have the bot's own packages, without LightGBM, XGBoost, CatBoost, torch"
        return Check(
            "environment", "warning", found, "bot env create --with text, or tabular, vision, audio, all"
        ), None
    found = f"{environment.name}: {environment.about()}"
    return Check("environment", "ok", found), environment


def check_bubblewrap(environment: Environment | None) -> Check:
    """Run a script under bubblewrap."""
    sandbox = BubblewrapSandbox(environment=environment)
    problem = sandbox.problem()
    if problem is None:
        lacks = [gap for gap in sandbox.describe().gaps if "libseccomp" in gap]
        fix = "install the Debian package libseccomp2" if lacks else None
        return Check("bubblewrap", "warning" if lacks else "ok", "runs scripts" + "".join(f"; {g}" for g in lacks), fix)
    found, _, fix = problem.partition("; ")
    return Check("bubblewrap", "warning", found, fix or "apt install bubblewrap util-linux, or similar")


def check_docker(instance: str, settings: SandboxSettings, environment: Environment | None) -> Check:
    """Run a script in a container."""
    try:
        info = engine_info()
    except ENGINE_FAILURES as error:
        return Check("Docker", "warning", say(error), "install and start Docker, or use --sandbox bubblewrap")
    engine = f"engine {info.get('ServerVersion')}, {info.get('Driver')}, cgroup v{info.get('CgroupVersion', '1')}"
    if settings.runtime and settings.runtime not in info.get("Runtimes", {}):
        known = ", ".join(sorted(info.get("Runtimes", {})))
        fix = f"it knows {known}: install {settings.runtime}, or change runtime under [sandbox] in bot.toml"
        return Check("Docker", "fails", f"{engine}; no runtime {settings.runtime}", fix)
    sandbox = DockerSandbox(instance, settings, environment)
    if problem := sandbox.problem():
        return Check("Docker", "warning", f"{engine}; {problem}", "make image, or use --sandbox bubblewrap")
    return Check("Docker", "ok", f"{engine}; runs scripts in {sandbox.describe().image}")


def description_here(environment: Environment | None, checks: list[Check]) -> SandboxDescription:
    """Return the sandbox that a bot would choose by itself: Docker where it works, else bubblewrap, else none.

    Args:
        environment: of the scripts.
        checks: of bubblewrap and Docker.
    """
    working = {check.part for check in checks if check.status == "ok" or "runs scripts" in check.found}
    kind = DockerSandbox if "Docker" in working else BubblewrapSandbox if "bubblewrap" in working else ProcessSandbox
    sandbox = kind(environment=environment)
    if kind is DockerSandbox:
        sandbox.problem()  # finds the packages of its image
    return sandbox.describe()


def engine_info() -> Mapping[str, Any]:
    """Return what the Docker engine reports of itself.

    Raises:
        EngineError: no engine answers.
    """
    with connect() as engine:
        found: dict[str, Any] = engine.info()
        return found


def check_isolation(checks: list[Check], *, needed: bool) -> Check:
    """Report whether any sandbox works that isolates scripts.

    Args:
        checks: the checks of the sandboxes.
        needed: whether a model that is not ours writes code.
    """
    working = [check.part for check in checks if check.status == "ok" or "runs scripts" in check.found]
    if working:
        return Check("isolation", "ok", " and ".join(working))
    fix = "fix bubblewrap or Docker (above)"
    if needed:
        return Check("isolation", "fails", "no sandbox works, and a model that is not ours writes code", fix)
    return Check("isolation", "warning", "no sandbox works: only the built-in model's scripts may run", fix)
