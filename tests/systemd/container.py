"""A container in which systemd is the first process, with the bot installed as on a machine: for tests of the service."""

import shlex
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError
from typing import Any

from docker import DockerClient
from docker.errors import ImageNotFound
from docker.models.containers import Container

from sandbox.image.build import debian_archive
from sandbox.image.engine import ENGINE_FAILURES, connect, engine_address, say
from tests import needs
from tests.source_tree import ROOT

PREFIX = Path("/opt/kaggle-bot")
"""The virtual environment inside; its packages are those of this environment."""
SOURCE = Path("/opt/source")
"""This checkout."""
ENGINE = Path("/srv/docker.sock")
"""The socket of the engine that runs it."""
_PACKAGES = ("systemd", "systemd-sysv", "dbus", "python3", "procps", "bubblewrap", "libseccomp2", "util-linux")
_PYTHON = (3, 11)
"""Debian's of that release."""
_LABEL = "kaggle-bot-tests-systemd"
_BOT = f"#!{PREFIX}/bin/python3\nimport sys\nfrom bot.cli import main\nsys.exit(main())\n"
_PREPARE = f"""
mkdir -p {PREFIX}/bin
ln -s /usr/bin/python3 {PREFIX}/bin/python3
printf 'home = /usr/bin\\ninclude-system-site-packages = false\\n' >{PREFIX}/pyvenv.cfg
printf %s {shlex.quote(_BOT)} >{PREFIX}/bin/bot
chmod 755 {PREFIX}/bin/bot
"""
_SECONDS = 60.0
"""Longest that anything may take which a test waits for."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    status: int
    stdout: str
    stderr: str


class Booted:
    """A machine of its own, as far as systemd can tell."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def run(self, *command: str | Path, user: str = "root", status: int | None = 0) -> Done:
        """Run a command, and fail where it ends with another exit status; None: any will do."""
        environment = {"PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}
        found = self._container.exec_run(
            [str(part) for part in command], user=user, environment=environment, demux=True
        )
        out, err = (part.decode() if part else "" for part in found.output)
        done = Done(found.exit_code, out, err)
        assert status is None or done.status == status, (command, done)
        return done

    def bot(self, *arguments: str, status: int | None = 0) -> Done:
        """Run the installed command."""
        return self.run(PREFIX / "bin" / "bot", *arguments, status=status)

    def systemctl(self, *arguments: str, status: int | None = 0) -> str:
        """Tell systemd something; return what it says."""
        return self.run("systemctl", *arguments, status=status).stdout.strip()

    def show(self, unit: str, name: str) -> str:
        """Return a property of a unit."""
        return self.systemctl("show", unit, f"--property={name}", "--value")

    def write(self, path: Path, text: str) -> None:
        """Write a file; the mode of one that is there stays."""
        self.run("sh", "-c", 'mkdir -p "$(dirname "$2")" && printf %s "$1" >"$2"', "sh", text, path)

    def read(self, path: Path) -> str:
        """Return what a file holds."""
        return self.run("cat", path).stdout

    def journal(self, unit: str) -> str:
        """Return all that a unit has said, and systemd of it."""
        self.run("journalctl", "--sync")
        return self.run("journalctl", "--no-pager", "-o", "cat", "-u", unit).stdout

    def until(self, what: Callable[[], bool], told: str) -> None:
        """Wait until something holds, for a minute at most."""
        deadline = time.monotonic() + _SECONDS
        while not what():
            assert time.monotonic() < deadline, f"{told}: not within {_SECONDS:.0f} s"
            time.sleep(0.1)


@contextmanager
def booted() -> Iterator[Booted]:
    """Boot such a container, and remove it at the end; skips the test where that cannot be."""
    if sys.version_info[:2] != _PYTHON:
        needs.missing("the container has Python 3.11, which cannot load this environment's packages")
    try:
        with connect() as engine:
            image = _image(engine)
            container = _container(engine, image)
            try:
                container.start()
                machine = Booted(container)
                machine.run("sh", "-ec", _PREPARE)
                machine.until(lambda: _is_up(machine), "systemd has started")
                yield machine
            finally:
                container.remove(force=True, v=True)
    except (*ENGINE_FAILURES, CalledProcessError) as error:
        needs.missing(f"systemd cannot be booted in a container: {say(error)}")


def _image(engine: DockerClient) -> str:
    archive = debian_archive(_PACKAGES)
    repository, tag = "kaggle-bot-systemd", archive.stem.rpartition("-")[2]
    try:
        engine.images.get(f"{repository}:{tag}")
    except ImageNotFound:
        engine.api.import_image_from_file(str(archive), repository=repository, tag=tag)
    return f"{repository}:{tag}"


def _container(engine: DockerClient, image: str) -> Container:
    """Make a container in which systemd may mount file systems, and services may make namespaces of their own."""
    # Without this mount, a service may not read the credentials that systemd gives it.
    boot = "mount --make-rshared / && exec /lib/systemd/systemd"
    volumes = {
        str(ROOT): SOURCE,
        sysconfig.get_path("purelib"): PREFIX / "lib/python3.11/site-packages",
        engine_address().removeprefix("unix://"): ENGINE,
    }
    host: dict[str, Any] = engine.api.create_host_config(
        binds=[f"{here}:{there}:ro" for here, there in volumes.items()],
        cap_add=["SYS_ADMIN"],
        security_opt=["seccomp=unconfined"],
        network_mode="none",
        tmpfs={"/run": "", "/run/lock": ""},
    )
    # Nothing of /proc is hidden, as bubblewrap wants it; and control groups of its own, for systemd to manage.
    host |= {"MaskedPaths": [], "ReadonlyPaths": [], "CgroupnsMode": "private"}
    made = engine.api.create_container(
        image, ["sh", "-c", boot], host_config=host, environment={"container": "docker"}, labels=[_LABEL]
    )
    return engine.containers.get(made["Id"])


def _is_up(machine: Booted) -> bool:
    return machine.systemctl("is-system-running", status=None) in {"running", "degraded"}


if __name__ == "__main__":  # ahead of the tests, which would wait for it
    with connect() as engine:
        _image(engine)
