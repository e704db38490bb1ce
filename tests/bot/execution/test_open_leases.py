"""Leases of a fleet: what is missing for one is named, and nothing loads Ray where none is named."""

import subprocess
import sys

import pytest

from bot.execution.open_leases import open_leases
from sandbox.leases import Leases
from sandbox.settings import FleetSettings, LeaseSettings
from state.errors import UsageError


def test_without_ray_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(UsageError, match=r"requires Ray, which is not installed: pip install 'kaggle-bot\[fleet\]'"),
        open_leases(LeaseSettings(), 0, FleetSettings(address="auto")),
    ):
        pass


def test_without_an_address_scripts_run_here_and_ray_is_not_loaded():
    program = (
        "import sys; from bot.execution.open_leases import open_leases; from sandbox.settings import *\n"
        "with open_leases(LeaseSettings(), 0, FleetSettings()) as (leases, _): print(type(leases).__name__)\n"
        "print('ray' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [Leases.__name__, "False"]
