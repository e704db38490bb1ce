"""The user that a script runs as under bubblewrap: another one if root starts it, else the same in a user namespace."""

import os
import platform
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

NOBODY_ID = 65534
_FIRST_USER = 1_900_000_000
"""Start of a range that systemd's list of user ids leaves free, so that nobody else has these."""
_USERS = 200_000_000
_COUNTS_BY_NAMESPACE = (5, 14)
"""Kernel since which the limit on processes counts those of a user namespace, not all of the user's."""
_REQUIRED_CAPS = {"CHOWN": 0, "DAC_OVERRIDE": 1, "KILL": 5, "SETGID": 6, "SETUID": 7, "SETPCAP": 8, "SYS_ADMIN": 21}
_RETAINED_CAPS = ("SETUID", "SETGID", "SETPCAP")


@dataclass(frozen=True)
class Identity:
    """A user, and how bwrap and the command inside come to be it."""

    user: int
    """User and group id that the script sees."""
    namespace: tuple[str, ...]
    """Options of bwrap."""
    become: tuple[str, ...]
    """Start of the command inside."""
    changes_user: bool
    """Whether it is another user outside too, one that needs rights on its files."""
    counted: bool
    """Whether the kernel's limit on processes counts the script's alone."""

    def give(self, folder: Path) -> None:
        """Make a folder and all in it the user's own."""
        if not self.changes_user:
            return
        os.chown(folder, self.user, self.user)
        for _, folders, files, parent in os.fwalk(folder):
            for name in (*folders, *files):
                status = os.stat(name, dir_fd=parent, follow_symlinks=False)
                if status.st_uid != self.user:  # looking costs a tenth of what changing does
                    os.chown(name, self.user, self.user, dir_fd=parent, follow_symlinks=False)

    def ensure_readable(self, paths: Iterable[Path]) -> None:
        """Raise PermissionError for a folder or a file that the user could not read."""
        for path in paths:
            bits = 0o005 if path.is_dir() else 0o004
            if self.changes_user and path.stat().st_mode & bits != bits:
                raise PermissionError(f"the user that runs scripts cannot read {path}: run `chmod -R o+rX` on it")

    def accounts(self) -> dict[str, bytes]:
        """Return the files by which the script knows users and hosts: itself, and nobody else's names."""
        return {
            "/etc/passwd": f"solution:x:{self.user}:{self.user}::/tmp:/bin/sh\n".encode(),
            "/etc/group": f"solution:x:{self.user}:\n".encode(),
            "/etc/hosts": b"127.0.0.1 localhost sandbox\n::1 localhost\n",
        }


def choose_identity(turn: int = 0, place: Path | None = None) -> Identity:
    """Return whom a script runs as.

    Started by root without a change of user, it would still be the kernel's root: the host's `/proc/sys` could be
    written, and the limit on processes would not hold. So root's bwrap makes the mounts itself, keeps three
    capabilities, and `setpriv` uses them up on the way to the script.

    Args:
        turn: Another number for each execution: each has a user of its own, whose processes the kernel counts apart.
        place: A folder whose user is the same each time, so that its files need not change hands.
    """
    if not _has_capabilities():
        major, minor = re.findall(r"\d+", platform.release())[:2]
        is_counted = (int(major), int(minor)) >= _COUNTS_BY_NAMESPACE and os.geteuid() != 0
        namespace: tuple[str, ...] = (
            "--unshare-user",
            "--uid",
            str(NOBODY_ID),
            "--gid",
            str(NOBODY_ID),
            "--cap-drop",
            "ALL",
        )
        return Identity(NOBODY_ID, namespace, (), changes_user=False, counted=is_counted)
    seed = os.getpid() * 512 + turn if place is None else int.from_bytes(sha256(os.fsencode(place.resolve())).digest())
    candidate = _FIRST_USER + seed % _USERS
    user = candidate if _mapped(candidate) else NOBODY_ID
    namespace = ("--cap-drop", "ALL", *(part for name in _RETAINED_CAPS for part in ("--cap-add", f"CAP_{name}")))
    become = (
        *(shutil.which("setpriv") or "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"),
        *("--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all", "--no-new-privs"),
        "--pdeathsig=KILL",  # bwrap had set it, but a change of user clears it
    )
    return Identity(user, namespace, become, changes_user=True, counted=True)


def _has_capabilities() -> bool:
    """Return whether we are root with a root's rights, which the root of a container may lack."""
    if os.geteuid() != 0:
        return False
    status = Path("/proc/self/status").read_text()
    match = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    capabilities = int(match[1], 16) if match else 0
    return all(capabilities >> bit & 1 for bit in _REQUIRED_CAPS.values())


def _mapped(user: int) -> bool:
    lines = Path("/proc/self/uid_map").read_text().splitlines()
    ranges = [tuple(int(part) for part in line.split()) for line in lines]
    return any(start <= user < start + count for start, _, count in ranges)
