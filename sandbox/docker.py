"""The back end that contains everything: a fresh, hardened Docker container for each execution."""

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from sandbox import ExecutionRequest, SandboxDescription
from sandbox.container import Container
from sandbox.execution import LocalSandbox, try_out
from sandbox.gpu import open_gpus
from sandbox.image import find_image
from sandbox.image.engine import ENGINE_FAILURES, connect, say
from sandbox.lab import LabRequest
from sandbox.lab.session import SearchPaths
from sandbox.launch import choose_cpus
from sandbox.profile import (
    PACKAGES,
    PATH,
    ContainerSpec,
    Origin,
    container_identity,
    container_options,
    lab_plan,
    script_plan,
)
from sandbox.watcher import Watcher
from sandbox.workspace import Workspace

_PROBE = """
import json, platform
from importlib import metadata
packages = {}
for found in metadata.distributions():
    packages.setdefault(found.metadata["Name"], found.version)
print(json.dumps({"python": platform.python_version(), "packages": packages, "data": open("data/probe").read()}))
"""


class DockerSandbox(LocalSandbox):
    """Runs scripts in containers without network, rights, or anything of the host but their view and working folder."""

    isolates = True

    _image_facts: tuple[str, str, Mapping[str, str]] | None = None
    """Image, version of its Python, and its packages, set by `problem`."""

    def problem(self) -> str | None:
        """Return in one sentence why it cannot be used here, found out by running it; None if it works."""
        try:
            with connect() as engine:
                image = find_image(engine, self._settings.image)
        except ENGINE_FAILURES as error:
            return say(error)
        works, output = try_out(self, _PROBE)
        if not works:
            return f"Docker is installed but cannot run a script: {output}"
        if image.attrs["Config"].get("Volumes"):
            return f"The image {image.tags} declares volumes, which are not covered by any size limit."
        facts = json.loads(output)
        if self._environment and facts["python"].split(".")[:2] != self._environment.record.python.split(".")[:2]:
            return (
                f"The environment {self._environment.name} requires Python {self._environment.record.python}, but the "
                f"image has {facts['python']}: run `make image`."
            )
        self._image_facts = f"{', '.join(image.tags)} {image.id}", facts["python"], facts["packages"]
        return None

    def describe(self) -> SandboxDescription:
        """Return what it cannot contain, and (after `problem`) what is installed in its image."""
        image, python, packages = self._image_facts or (None, None, None)
        return SandboxDescription(
            name="docker",
            gaps=(
                "the kernel is shared unless the runtime is gVisor: scripts can exploit its bugs through unfiltered "
                "system calls",
                "Docker's system call filter allows io_uring before Docker 25 and vsock before Docker 23",
                "the size of the working folder is measured a few times per second, so a burst can exceed its limit",
                "access to the Docker engine gives the bot root access",
                "GPU memory is not limited; the execution has the GPU to itself",
            ),
            python=python,
            packages=packages,
            environment=self._environment.name if self._environment else None,
            image=image,
            isolates=self.isolates,
        )

    def start(self, request: ExecutionRequest, workspace: Workspace) -> Container:
        """Start the script in a container; raises OSError if no engine answers or the image is missing."""
        cpus = request.lease.cpus or choose_cpus(request.limits.cpus, next(self._turns))
        watcher = Watcher(request.limits, (workspace.work,))
        return self._start(lambda origin: script_plan(origin, request, workspace, cpus), watcher)

    @property
    def search_paths(self) -> SearchPaths:
        """Where commands of a lab find programs and packages: in the image, and in the environment."""
        return SearchPaths(PATH, PACKAGES if self._environment else None)

    def start_lab(self, request: LabRequest, work: Path, watcher: Watcher) -> Container:
        """Start the agent of a lab in a container that ends with it."""
        with open_gpus() as gpus:
            uuids = [gpu.uuid for gpu in gpus.all()]
        return self._start(lambda origin: lab_plan(origin, request, work, uuids), watcher, talks=True)

    def _start(
        self, make_plan: Callable[[Origin], ContainerSpec], watcher: Watcher, *, talks: bool = False
    ) -> Container:
        identity = container_identity()
        with ExitStack() as stack:
            engine = stack.enter_context(connect())
            image = find_image(engine, self._settings.image)
            packages = self._environment.packages_folder if self._environment else None
            plan = make_plan(Origin(str(image.id), self._instance, self._settings.runtime, packages))
            options = container_options(plan)
            identity.ensure_readable(plan.readable.values())
            for folder in plan.writable.values():
                identity.give(folder)
            return Container(engine, options, plan.limits, watcher, stack, talks=talks)
