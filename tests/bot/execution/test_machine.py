"""Tests of what the coder is told of the machine."""

from dataclasses import replace

from bot.execution.machine import LISTED_PACKAGES, Machine, this_machine
from sandbox import Limits, SandboxDescription
from sandbox.environments import GROUPS, LISTS
from sandbox.process import ProcessSandbox

LIMITS = Limits(60, memory_bytes=2**30, written_bytes=5 * 10**9, cpus=2)


def test_packages_are_those_of_the_image_or_environment_where_scripts_run_in_one() -> None:
    packages = {"Pillow": "11.0", "scikit_learn": "1.9", "of-no-interest": "1.0"}
    described = SandboxDescription("docker", (), python="3.11.2", packages=packages)
    machine = this_machine(LIMITS, described)
    assert machine.python == "3.11.2"
    assert machine.packages == ("scikit-learn 1.9", "pillow 11.0")


def test_packages_are_the_bots_own_elsewhere() -> None:
    machine = this_machine(LIMITS, ProcessSandbox().describe())
    assert any(package.startswith("numpy ") for package in machine.packages)
    assert machine.memory_gib <= 1


def test_the_sentence_names_cores_memory_disk_and_the_gpus_with_their_memory() -> None:
    machine = Machine("3.11.2", 2, 20.6, 0, ("numpy 2.0", "torch 2.13.0"), disk_gb=40)
    assert machine.describe() == (
        "Python 3.11.2, 2 CPUs, 21 GiB of memory, 40 GB of disk, no GPU. Installed: numpy 2.0, torch 2.13.0."
    )
    one = replace(machine, cpus=1, gpus=1, gpu_models=("NVIDIA H100 80GB HBM3 with 80 GiB",))
    assert "1 CPU, 21 GiB of memory, 40 GB of disk, 1 GPU (NVIDIA H100 80GB HBM3 with 80 GiB)." in one.describe()


def test_gpus_are_named_only_where_a_script_is_lent_one() -> None:
    described = ProcessSandbox().describe()
    assert this_machine(LIMITS, described, 0, ("A with 80 GiB",)).gpu_models == ()
    assert this_machine(LIMITS, described, 2, ("A with 80 GiB",)).gpu_models == ("A with 80 GiB",)


def test_all_that_environments_are_made_for_is_worth_telling() -> None:
    wanted = {name for group in GROUPS for name in (LISTS / f"{group}.in").read_text().split()}
    assert wanted - set(LISTED_PACKAGES) == {"tqdm"}
