"""What makes a machine run the service, and what takes it away again: lists of changes, in their order."""

import grp
import pwd
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.service.changes import Act, Change, Folder, Gone, Text, due, sentences
from bot.service.layout import CREDENTIALS, PROGRAM, PRUNE, SERVICE, TIMER, USER, Layout
from bot.service.systemd import Systemd
from state.errors import UsageError

_DOCKER = "docker"
"""The group that may speak to the engine."""
_BACKOFF_SINCE = 254
"""systemd's version that lets the time between restarts grow."""
_CHOSEN = {"docker": (SERVICE, PRUNE), "gpu": (SERVICE,), "backoff": (SERVICE,)}
DROP_INS = (*(f"{unit}.d/{name}.conf" for name, of in _CHOSEN.items() for unit in of), f"{SERVICE}.d/credentials.conf")
"""All that an installation may have, relative to the folder of units."""
_CREDENTIAL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._+@-]+")


@dataclass(frozen=True)
class InstallOptions:
    """How the service is to be installed."""

    program: Path
    docker: bool = False
    gpu: bool = False
    backoff: bool = False
    """Whether the time between restarts grows, which older versions of systemd do not know."""


def install_options(
    layout: Layout, program: Path, *, docker: bool | None = None, gpu: bool | None = None
) -> InstallOptions:
    """Return how it is to be installed: what is not said stays as an earlier installation has it.

    Raises:
        UsageError: systemd cannot be asked for its version.
    """

    def or_as_it_is(given: bool | None, name: str) -> bool:
        return (layout.units / f"{SERVICE}.d" / f"{name}.conf").exists() if given is None else given

    backoff = Systemd().version() >= _BACKOFF_SINCE
    return InstallOptions(program, docker=or_as_it_is(docker, "docker"), gpu=or_as_it_is(gpu, "gpu"), backoff=backoff)


def install(layout: Layout, options: InstallOptions, configuration: str, systemd: Systemd | None) -> list[Change]:
    """Return all that must hold for the service to be installed; what is its owner's is made once and never changed.

    Args:
        layout: where everything lies.
        options: how it is to be installed.
        configuration: the bot.toml to begin with.
        systemd: of the machine; None below another root, where only files are written.

    Raises:
        UsageError: an option cannot be had here.
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
    account = Act(
        f"make the user {USER}",
        lambda: not _is_known(pwd.getpwnam, USER),
        _changing(systemd, "systemd-sysusers", str(layout.account)),
    )
    return [*files, account, *of_units, _reload(systemd, of_units), *_enable(systemd)]


def unit_changes(layout: Layout, options: InstallOptions) -> list[Change]:
    """Return what must hold of the units and our drop-ins; those of others beside them stay.

    Raises:
        UsageError: this user may not see which credentials there are.
    """
    # Units name them as they lie on the machine, wherever they are written.
    wanted = _drop_ins(options, _names(layout.credentials), Layout().credentials)
    texts = {**_units(options.program), **wanted}
    return [
        *(Text(layout.units / name, content) for name, content in texts.items()),
        *(Gone(layout.units / name) for name in DROP_INS if name not in wanted),
        *(Gone(layout.units / f"{unit}.d") for unit in (SERVICE, PRUNE)),
    ]


def uninstall(layout: Layout, systemd: Systemd | None, *, purge: bool) -> list[Change]:
    """Return what takes the service away.

    The user stays as long as files of it do: whoever got its number next would own them.

    Args:
        layout: where everything lies.
        systemd: of the machine; None below another root.
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
            Act(f"remove the user {USER}", lambda: _is_known(pwd.getpwnam, USER), _changing(systemd, "userdel", USER))
        )
    return [*stop, *files, *reload, *folders, *account]


def _reload(systemd: Systemd, files: Sequence[Change]) -> Change:
    """Return the change by which systemd reads its units anew, also where an earlier installation broke off before it."""
    with sentences():
        changed = due(files)

    def is_due() -> bool:
        return changed or any(
            systemd.show(unit, ["NeedDaemonReload"]).get("NeedDaemonReload") == "yes"
            for unit in (SERVICE, PRUNE, TIMER)
        )

    return Act("let systemd read its units anew", is_due, _changing(systemd, "systemctl", "daemon-reload"))


def _enable(systemd: Systemd) -> list[Change]:
    def timer_is_off() -> bool:
        return not (systemd.is_enabled(TIMER) and systemd.is_active(TIMER))

    service, timer = ("systemctl", "enable", SERVICE), ("systemctl", "enable", "--now", TIMER)
    return [
        Act(f"start {SERVICE} with the machine", lambda: not systemd.is_enabled(SERVICE), _changing(systemd, *service)),
        Act(f"start {TIMER}, now and with the machine", timer_is_off, _changing(systemd, *timer)),
    ]


def _stop(systemd: Systemd, unit: str) -> Change:
    def is_due() -> bool:
        state = systemd.show(unit, ["LoadState", "ActiveState"])
        runs = state.get("ActiveState") not in {"inactive", "failed"}
        return systemd.is_enabled(unit) or (state.get("LoadState") == "loaded" and runs)

    return Act(f"stop {unit}", is_due, _changing(systemd, "systemctl", "disable", "--now", unit))


def _changing(systemd: Systemd, *command: str) -> Callable[[], None]:
    return lambda: systemd.change(*command)


def _names(folder: Path) -> list[str]:
    """Return the names of the credentials that are there; backups of editors and the like are none."""
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
    """Return a file of `systemd/`: beside this one in an installation, at its place in a checkout."""
    installed = Path(__file__).parent / "units"
    folder = installed if installed.is_dir() else Path(__file__).parents[2] / "systemd"
    return (folder / name).read_text(encoding="utf-8")


def _units(program: Path) -> dict[str, str]:
    """Return the units by name, which run this program.

    Raises:
        UsageError: its path holds what means something else in a unit.
    """
    if not _PLAIN_PATH.fullmatch(str(program)):
        raise UsageError(f"a unit cannot name the program {program}: install the bot below a folder with a plain name")
    return {name: shipped(name).replace(str(PROGRAM), str(program)) for name in (SERVICE, PRUNE, TIMER)}


def _drop_ins(options: InstallOptions, credentials: Sequence[str], folder: Path) -> dict[str, str]:
    """Return the drop-ins that are chosen, by their path relative to the folder of units.

    Args:
        options: which of them.
        credentials: names of those in the folder; of those that the unit does not load by itself a drop-in is made.
        folder: of credentials, as the service manager sees it.
    """
    chosen = {"docker": options.docker, "gpu": options.gpu, "backoff": options.backoff}
    names = [f"{unit}.d/{name}.conf" for name, of in _CHOSEN.items() if chosen[name] for unit in of]
    found = {name: shipped(name) for name in names}
    if more := sorted(set(credentials) - set(CREDENTIALS)):
        lines = (f"LoadCredential={name}:{folder / name}" for name in more)
        head = f"# What lies in {folder} beyond the usual names. Written anew by `bot service install`."
        found[f"{SERVICE}.d/credentials.conf"] = "\n".join((head, "[Service]", *lines, ""))
    return found
