"""The files of the service: units and drop-ins are the program's; bot.toml, environment and credentials are the owner's."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from state.errors import UsageError
from state.files import write_whole

SERVICE = "kaggle-bot.service"
PRUNE = "kaggle-bot-prune.service"
TIMER = "kaggle-bot-prune.timer"
UNITS = Path("/etc/systemd/system")
SYSUSERS = Path("/etc/sysusers.d/kaggle-bot.conf")
CONFIGURATION = Path("/etc/kaggle-bot")
CREDENTIALS = CONFIGURATION / "credentials"
"""The folder of the secrets, a file each, readable only by root."""
STATE = Path("/var/lib/kaggle-bot")
PROGRAM = Path("/opt/kaggle-bot/bin/bot")
"""The program that the shipped units name, and the recommended place to install it."""

_USUAL_CREDENTIALS = ("KAGGLE_API_TOKEN", "OPENAI_API_KEY", "SLACK_URL", "MAIL_URL")
"""Names of the credentials that the unit loads by itself."""
_DROP_INS = (("docker", SERVICE), ("docker", PRUNE), ("gpu", SERVICE))
"""Optional drop-ins, each with its unit."""
_HIDDEN = ("/home", "/root", "/run/user", "/tmp", "/var/tmp")  # noqa: S108 - places that are refused
"""Folders that the service does not see (ProtectHome, PrivateTmp)."""


def check_program(*paths: Path) -> None:
    """Raise UsageError if a unit cannot name one of these paths, or if the service cannot see it."""
    for path in (*paths, *(path.resolve() for path in paths)):
        if not re.fullmatch(r"/[A-Za-z0-9/._+@-]+", str(path)) or any(map(path.is_relative_to, _HIDDEN)):
            raise UsageError(
                f"the service cannot use {path}: the path must be absolute, contain no special characters and not be inside "
                f"{' or '.join(_HIDDEN)}. Install the bot with the system's Python, for example with "
                f"`python3 -m venv {PROGRAM.parents[1]}`, then run `{PROGRAM} service install`."
            )


def unit_files(root: Path, program: Path, choices: Mapping[str, bool | None]) -> dict[Path, str | None]:
    """Return the text of each unit and drop-in; None: it must not exist.

    `root` is `/`, or the folder that a package is made from; a drop-in that is not in `choices`, or None there,
    stays as installed.
    """
    units, credentials = rebase(root, UNITS), rebase(root, CREDENTIALS)
    files: dict[Path, str | None] = {
        units / name: shipped(name).replace(str(PROGRAM), str(program)) for name in (SERVICE, PRUNE, TIMER)
    }
    for name, unit in _DROP_INS:
        path, choice = units / f"{unit}.d" / f"{name}.conf", choices.get(name)
        is_wanted = path.exists() if choice is None else choice
        files[path] = shipped(f"{unit}.d/{name}.conf") if is_wanted else None
    names = sorted(path.name for path in credentials.iterdir()) if credentials.is_dir() else []
    names_given = [name for name in names if name.isidentifier() or name == "kaggle.json"]  # no editors' backup files
    lines = [f"LoadCredential={name}:{CREDENTIALS / name}\n" for name in names_given if name not in _USUAL_CREDENTIALS]
    files[units / f"{SERVICE}.d" / "credentials.conf"] = "".join(("[Service]\n", *lines)) if lines else None
    return files


def write_files(root: Path, program: Path, choices: Mapping[str, bool | None], configuration: str) -> None:
    """Write all files; what exists of the owner's is kept. Arguments as of `unit_files`, and the first bot.toml."""
    folder, credentials = rebase(root, CONFIGURATION), rebase(root, CREDENTIALS)
    first = {folder / "bot.toml": configuration, folder / "environment": shipped("environment.example")}
    files = unit_files(root, program, choices) | {rebase(root, SYSUSERS): shipped("sysusers.conf")}
    for path, text in (files | {path: text for path, text in first.items() if not path.exists()}).items():
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
    credentials.mkdir(exist_ok=True)
    credentials.chmod(0o700)
    for name in _USUAL_CREDENTIALS:
        (credentials / name).touch(mode=0o600)


def delete_units(root: Path) -> None:
    """Delete the units with our drop-ins; other drop-ins, configuration and credentials stay."""
    for path in (*unit_files(root, PROGRAM, {}), rebase(root, SYSUSERS)):
        path.unlink(missing_ok=True)
        with suppress(OSError):  # it holds other files, or does not exist
            path.parent.rmdir()


def shipped(name: str) -> str:
    """Return a file of `systemd/`: in an installation from beside this module, in a checkout from its root."""
    installed = Path(__file__).parent / "units"
    folder = installed if installed.is_dir() else Path(__file__).parents[2] / "systemd"
    return (folder / name).read_text(encoding="utf-8")


def rebase(root: Path, path: Path) -> Path:
    """Return where a path of the machine lies below another root."""
    return root / path.relative_to("/")
