"""Tests of what the coder is told of the machine."""

from bot.coder.machine import WORTH_KNOWING, this_machine
from sandbox import SandboxDescription
from sandbox.process import ProcessSandbox
from tests.source_tree import ROOT


def test_packages_are_those_of_the_image_where_scripts_run_in_one() -> None:
    packages = {"Pillow": "11.0", "scikit_learn": "1.9", "of-no-interest": "1.0"}
    described = SandboxDescription("docker", "docker", (), (), python="3.11.2", packages=packages)
    machine = this_machine(2, 2**30, described)
    assert machine.python == "3.11.2"
    assert machine.packages == ("scikit-learn 1.9", "pillow 11.0")


def test_packages_are_the_bots_own_elsewhere() -> None:
    machine = this_machine(2, 2**30, ProcessSandbox().describe())
    assert any(package.startswith("numpy ") for package in machine.packages)
    assert machine.memory_gib <= 1


def test_all_that_the_image_is_made_for_is_worth_telling() -> None:
    wanted = set((ROOT / "sandbox/image/solutions.in").read_text().split())
    assert wanted - set(WORTH_KNOWING) == {"ipykernel", "tqdm"}
