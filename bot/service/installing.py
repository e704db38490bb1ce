"""Installing and uninstalling the service: the lists of changes, in order."""

import grp
import pwd
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.service.changes import Action, Change, Folder, Gone, Text, any_due, sentences
from bot.service.layout import CREDENTIALS, PROGRAM, PRUNE, SERVICE, TIMER, USER, Layout
from bot.service.systemd import Systemd
from state.errors import UsageError

_DOCKER = "docker"
"""The group that may use the engine."""
_BACKOFF_SINCE = 254
"""The systemd version from which the time between restarts can grow."""
_CHOSEN = {"docker": (SERVICE, PRUNE), "gpu": (SERVICE,), "backoff": (SERVICE,)}
DROP_INS = (*(f"{unit}.d/{name}.conf" for name, of in _CHOSEN.items() for unit in of), f"{SERVICE}.d/credentials.conf")
"""All drop-ins that an installation may have, relative to the folder of units."""
_CREDENTIAL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._+@-]+")


@dataclass(frozen=True)
class InstallOptions:
    """How to install the service."""

    program: Path
    docker: bool = False
    gpu: bool = False
    backoff: bool = False
    """Whether the time between restarts grows, which older versions of systemd do not support."""


def install_options(
    layout: Layout, program: Path, *, docker: bool | None = None, gpu: bool | None = None
) -> InstallOptions:
    """Return how to install the service; options that are not given stay as in an earlier installation.

    Raises:
        UsageError: systemd cannot be asked for its version.
    """

    def or_as_it_is(given: bool | None, name: str) -> bool:
        return (layout.units / f"{SERVICE}.d" / f"{name}.conf").exists() if given is None else given

    backoff = Systemd().version() >= _BACKOFF_SINCE
    return InstallOptions(program, docker=or_as_it_is(docker, "docker"), gpu=or_as_it_is(gpu, "gpu"), backoff=backoff)


def install(layout: Layout, options: InstallOptions, configuration: str, systemd: Systemd | None) -> list[Change]:
    """Return the changes that install the service; the owner's own files are created once and never changed.

    Args:
        layout: all paths.
        options: how to install it.
        configuration: the bot.toml to begin with.
        systemd: the machine's; None below another root, where only files are written.

    Raises:
        UsageError: an option is impossible here.
    """
    if systemd and options.docker and not _is_known(grp.getgrnam, _DOCKER):
        raise UsageError(f"there is no group {_DOCKER}: install a Docker engine first (Debian package docker.io)")
    files: list[Change] = [
        Text(layout.account, shipped("sysusers.conf")),
        Folder(layout.configuration),
        Text(layout.bot_toml, configuration, keep=True),
        Text(layout.environment, shipped("environment.example"), keep=True),
        Folder(layout.credentials, private=True),
        *(Text(layout.credentials / name, "", keep=True, mode=0o600) for name in CREDENTIALS),
    ]
    of_units = unit_changes(layout, options)
    if systemd is None:
        return [*files, *of_units]
    account = Action(
        f"create the user {USER}",
        lambda: not _is_known(pwd.getpwnam, USER),
        _changing(systemd, "systemd-sysusers", str(layout.account)),
    )
    return [*files, account, *of_units, _reload(systemd, of_units), *_enable(systemd)]


def unit_changes(layout: Layout, options: InstallOptions) -> list[Change]:
    """Return the changes to the units and our drop-ins; other drop-ins beside them stay.

    Raises:
        UsageError: this user may not list the credentials.
    """
    # Units name paths on the machine, wherever the units themselves are written.
    wanted = _drop_ins(options, _names(layout.credentials), Layout().credentials)
    texts = {**_units(options.program), **wanted}
    return [
        *(Text(layout.units / name, content) for name, content in texts.items()),
        *(Gone(layout.units / name) for name in DROP_INS if name not in wanted),
        *(Gone(layout.units / f"{unit}.d") for unit in (SERVICE, PRUNE)),
    ]


def uninstall(layout: Layout, systemd: Systemd | None, *, purge: bool) -> list[Change]:
    """Return the changes that remove the service.

    Its user stays as long as its files do: the next user with its number would own them.

    Args:
        layout: all paths.
        systemd: the machine's; None below another root.
        purge: remove configuration, credentials, state and user too.
    """
    files: list[Change] = [
        *(Gone(layout.units / name) for name in (*DROP_INS, SERVICE, PRUNE, TIMER)),
        *(Gone(layout.units / f"{unit}.d", with_content=purge) for unit in (SERVICE, PRUNE)),
    ]
    stop = [_stop(systemd, unit) for unit in (TIMER, SERVICE, PRUNE)] if systemd else []
    reload = [_reload(systemd, files)] if systemd else []
    account: list[Change] = [Gone(layout.account)]
    if not purge:
        return [*stop, *files, *reload, *account]
    folders = [
        *(Gone(path, with_content=True) for path in (layout.configuration, layout.state, layout.cache)),
        Gone(layout.timer_stamp),
    ]
    if systemd:
        account.append(
            Action(
                f"remove the user {USER}", lambda: _is_known(pwd.getpwnam, USER), _changing(systemd, "userdel", USER)
            )
        )
    return [*stop, *files, *reload, *folders, *account]


def _reload(systemd: Systemd, files: Sequence[Change]) -> Change:
    """Return the change that makes systemd reload its units, even if an earlier installation was interrupted before it."""
    with sentences():
        changed = any_due(files)

    def is_due() -> bool:
        return changed or any(
            systemd.show(unit, ["NeedDaemonReload"]).get("NeedDaemonReload") == "yes"
            for unit in (SERVICE, PRUNE, TIMER)
        )

    return Action("make systemd reload its units", is_due, _changing(systemd, "systemctl", "daemon-reload"))


def _enable(systemd: Systemd) -> list[Change]:
    def timer_is_off() -> bool:
        return not (systemd.is_enabled(TIMER) and systemd.is_active(TIMER))

    service, timer = ("systemctl", "enable", SERVICE), ("systemctl", "enable", "--now", TIMER)
    return [
        Action(
            f"start {SERVICE} with the machine", lambda: not systemd.is_enabled(SERVICE), _changing(systemd, *service)
        ),
        Action(f"start {TIMER}, now and with the machine", timer_is_off, _changing(systemd, *timer)),
    ]


def _stop(systemd: Systemd, unit: str) -> Change:
    def is_due() -> bool:
        state = systemd.show(unit, ["LoadState", "ActiveState"])
        runs = state.get("ActiveState") not in {"inactive", "failed"}
        return systemd.is_enabled(unit) or (state.get("LoadState") == "loaded" and runs)

    return Action(f"stop {unit}", is_due, _changing(systemd, "systemctl", "disable", "--now", unit))


def _changing(systemd: Systemd, *command: str) -> Callable[[], None]:
    return lambda: systemd.change(*command)


def _names(folder: Path) -> list[str]:
    """Return the names of the credentials; editors' backup files and the like do not count."""
    if not folder.parent.is_dir():
        return []
    with sentences():
        found = [path.name for path in folder.iterdir() if path.is_file()] if folder.is_dir() else []
    return [name for name in found if re.fullmatch(_CREDENTIAL_NAME, name) and not name.endswith((".bak", ".orig"))]


def _is_known(look_up: Callable[[str], object], name: str) -> bool:
    try:
        look_up(name)
    except KeyError:
        return False
    return True


def shipped(name: str) -> str:
    """Return a file of `systemd/`: in an installation from beside this module, in a checkout from its root."""
    installed = Path(__file__).parent / "units"
    folder = installed if installed.is_dir() else Path(__file__).parents[2] / "systemd"
    return (folder / name).read_text(encoding="utf-8")


def _units(program: Path) -> dict[str, str]:
    """Return the units that run this program, by name.

    Raises:
        UsageError: its path holds characters with a special meaning in a unit.
    """
    if not _PLAIN_PATH.fullmatch(str(program)):
        raise UsageError(f"a unit cannot name the program {program}: install the bot below a folder with a plain name")
    return {name: shipped(name).replace(str(PROGRAM), str(program)) for name in (SERVICE, PRUNE, TIMER)}


def _drop_ins(options: InstallOptions, credentials: Sequence[str], folder: Path) -> dict[str, str]:
    """Return the chosen drop-ins, by path relative to the folder of units.

    Args:
        options: which drop-ins are chosen.
        credentials: names in the credentials' folder; a drop-in loads those that the unit does not load by itself.
        folder: the credentials' folder, as the service manager sees it.
    """
    chosen = {"docker": options.docker, "gpu": options.gpu, "backoff": options.backoff}
    names = [f"{unit}.d/{name}.conf" for name, of in _CHOSEN.items() if chosen[name] for unit in of]
    found = {name: shipped(name) for name in names}
    if more := sorted(set(credentials) - set(CREDENTIALS)):
        lines = (f"LoadCredential={name}:{folder / name}" for name in more)
        head = f"# Credentials in {folder} beyond the usual names. Rewritten by `bot service install`."
        found[f"{SERVICE}.d/credentials.conf"] = "\n".join((head, "[Service]", *lines, ""))
    return found
