"""Tests of what only containers do: the kernel's own limits, names, labels, mounts, and a bot that was killed."""

import ast
import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

from sandbox import Breach, ExitReason, Lease, ResourceUsage
from sandbox.docker import DockerSandbox
from sandbox.image import IMAGE
from sandbox.image.build import PACKAGES
from sandbox.image.engine import connect
from sandbox.profile import INSTANCE, ContainerSpec, Origin, container_options, name_of, script_plan
from sandbox.workspace import Workspace
from tests import needs
from tests.sandbox.conftest import Run, make_request, runner
from tests.source_tree import ROOT

MB = 1024**2
GROW = "data = bytearray(b'x') * (300 * 1024**2)"
NEEDS_DOCKER = pytest.mark.integration


def plan(place: Path, **options: object) -> ContainerSpec:
    workspace = Workspace(place / "work", place / "code", place)
    for folder in (workspace.work, workspace.code):
        folder.mkdir(exist_ok=True)
    request = make_request(place, "", **options)
    return script_plan(Origin("image", "ours", None), request, workspace, (0,))


def test_executions_of_two_runs_have_two_names(place: Path) -> None:
    assert name_of(place / "one", "node1") != name_of(place / "two", "node1")
    assert name_of(place / "one", "node1") == name_of(place / "one", "node1")


def test_nothing_is_mounted_but_the_view_the_script_the_accounts_and_what_was_asked_for(place: Path) -> None:
    (place / "weights").mkdir()
    options = container_options(plan(place, mounts={"weights": place / "weights"}))
    assert {mount["Target"]: mount["ReadOnly"] for mount in options["mounts"]} == {
        "/work": False,
        "/work/data": True,
        "/work/weights": True,
        "/code": True,
        "/etc/passwd": True,
        "/etc/group": True,
        "/etc/hosts": True,
    }
    assert (place / "work" / "weights").is_dir()


def test_a_gpu_is_asked_for_by_its_uuid_and_only_where_one_is_leased(place: Path) -> None:
    assert "device_requests" not in container_options(plan(place))
    (request,) = container_options(plan(place, lease=Lease(gpus=("GPU-1",))))["device_requests"]
    assert request["DeviceIDs"] == ["GPU-1"]
    assert request["Capabilities"] == [["gpu"]]


def test_the_image_holds_what_the_built_in_recipe_imports() -> None:
    source = (ROOT / "bot/agents/builtin/recipe.py.txt").read_text().replace("{{ config }}", "{}")
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
        if name is not None
    }
    packages = {"PIL": "pillow", "sklearn": "scikit-learn"}
    wanted = {packages.get(name, name) for name in imported - sys.stdlib_module_names}
    assert {"numpy", "scikit-learn"} <= wanted <= set(PACKAGES)


@NEEDS_DOCKER
async def test_a_child_killed_for_memory_is_reported_though_the_script_ends_well(run_docker: Run) -> None:
    child = f"subprocess.run([sys.executable, '-c', {GROW!r}]"
    head = "import subprocess, sys\n"
    well = await run_docker(f"{head}print({child}).returncode)", memory_bytes=100 * MB)
    assert (well.reason, well.exit_code, well.output) == (ExitReason.FINISHED, 0, "-9\n")
    assert any("memory" in note for note in well.notes)
    failed = await run_docker(f"{head}{child}, check=True)", memory_bytes=100 * MB)
    assert failed.reason is ExitReason.OUT_OF_MEMORY
    assert "104857600" in (failed.detail or "")


@NEEDS_DOCKER
async def test_a_script_that_kills_itself_is_not_out_of_memory(run_docker: Run) -> None:
    outcome = await run_docker("import os; os.kill(os.getpid(), 9)")
    assert (outcome.reason, outcome.exit_code) == (ExitReason.ERROR, 137)


@NEEDS_DOCKER
async def test_a_bot_whose_files_are_for_itself_alone_can_still_run_scripts(run_docker: Run) -> None:
    before = os.umask(0o077)
    try:
        outcome = await run_docker("import getpass; print(getpass.getuser(), open('data/train.csv').read())")
    finally:
        os.umask(before)
    assert outcome.output == "solution id,x\n1,2\n\n"


@NEEDS_DOCKER
async def test_a_view_that_scripts_cannot_read_is_reported(run_docker: Run, place: Path) -> None:
    needs.root()
    (place / "view").chmod(0o700)
    outcome = await run_docker("print(1)")
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert "chmod" in (outcome.detail or "")


@NEEDS_DOCKER
async def test_the_hosts_proxies_and_their_passwords_stay_outside(run_docker, place, monkeypatch) -> None:
    (place / "config.json").write_text(json.dumps({"proxies": {"default": {"httpProxy": "http://me:secret@proxy"}}}))
    monkeypatch.setenv("DOCKER_CONFIG", str(place))
    outcome = await run_docker("import os; print(dict(os.environ))")
    assert outcome.reason is ExitReason.FINISHED
    assert "secret" not in outcome.output


@NEEDS_DOCKER
async def test_all_output_arrives_however_much_it_is(run_docker: Run) -> None:
    outcome = await run_docker(
        """
        import sys
        for i in range(100):
            sys.stdout.write("x" * 99_999 + chr(10))
            print(i, file=sys.stderr)
        """
    )
    assert outcome.reason is ExitReason.FINISHED
    cut = re.search(r"\[\.\.\. (\d+) bytes cut \.\.\.\]", outcome.output)
    assert int(cut[1]) == 100 * 100_000 + 10 * 2 + 90 * 3 - 1_000_000
    assert outcome.output.endswith("x\n99\n")


class SlowReader:
    """A watch that takes its time over what was printed, so that the script has long ended when the rest is read."""

    def output(self, chunk: bytes) -> None:
        time.sleep(0.01)

    def usage(self, usage: ResourceUsage) -> Breach | None:
        return None


@NEEDS_DOCKER
async def test_a_container_that_has_ended_before_all_is_read_keeps_nobody_waiting(docker, place) -> None:
    """The engine answers no question about it before all has been taken from it."""
    script = "import sys; sys.stdout.write('x' * 10_000_000)"
    outcome = await docker.run(make_request(place, script, seconds=6.0), SlowReader())
    assert outcome.reason is ExitReason.FINISHED, outcome.detail


@NEEDS_DOCKER
async def test_a_container_that_an_earlier_attempt_left_under_the_name_makes_way(docker, place) -> None:
    stale = container_of(docker._instance, place)
    outcome = await runner(docker, place)("print(1)")
    assert outcome.output == "1\n"
    with connect() as engine:
        assert stale not in [container.id for container in engine.containers.list(all=True)]


@NEEDS_DOCKER
async def test_a_strangers_container_under_the_name_is_left_alone(docker: DockerSandbox, place: Path) -> None:
    stranger = container_of("somebody-else", place)
    outcome = await runner(docker, place)("print(1)")
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    with connect() as engine:
        container = engine.containers.get(stranger)
        container.remove(force=True)


def container_of(instance: str, place: Path) -> str:
    """Make a container under the name of the test's execution; return its id."""
    with connect() as engine:
        name = name_of(place / "out", "test")
        made = engine.containers.create(IMAGE, ["true"], name=name, labels={INSTANCE: instance})
        return str(made.id)


@NEEDS_DOCKER
async def test_a_gpu_that_the_engine_cannot_give_is_the_engines_failure(docker: DockerSandbox, place: Path) -> None:
    outcome = await runner(docker, place)("print(1)", lease=Lease(gpus=("GPU-00000000-0000-0000-0000-000000000000",)))
    assert outcome.reason is ExitReason.INFRASTRUCTURE
    assert outcome.output == ""
    assert "device" in (outcome.detail or "")
