"""Opening a machine's leases, and choosing the number of GPUs of an execution."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bot.extensions import extension
from sandbox.gpu import open_gpus
from sandbox.leases import Leases, leases_folder
from sandbox.settings import FleetSettings, LeaseSettings, SandboxSettings
from state.errors import UsageError


@contextmanager
def open_leases(
    settings: LeaseSettings,
    requested_gpus: int | None,
    fleet: FleetSettings | None = None,
    scripts: SandboxSettings | None = None,
) -> Iterator[tuple[Leases, int]]:
    """Open the machine's leases, or a fleet's; yields them and the number of GPUs that an execution holds.

    `requested_gpus` are GPUs an execution; None: one if there is one, on a fleet if every node has one. Without a fleet, or
    its address, scripts run here.

    Raises UsageError: there are fewer GPUs, the folder of leases cannot be used, or there is no such fleet.
    """
    try:
        folder = leases_folder()
    except OSError as error:
        raise UsageError(f"the lease folder cannot be used: {error}; set BOT_LEASES to choose another") from error
    with ExitStack() as stack:
        gpus = stack.enter_context(open_gpus())
        leases, owner = Leases(folder, gpus=gpus, gpu_shares=settings.gpu_shares), "this machine has"
        if fleet is not None and fleet.address is not None:
            open_fleet = extension("placement", "fleet")
            leases = stack.enter_context(open_fleet(fleet, scripts or SandboxSettings(), leases))
            owner = "no node in the fleet has more than"
        available = leases.gpus
        if requested_gpus is not None and requested_gpus > available:
            raise UsageError(f"--gpus {requested_gpus}, but {owner} {available}: `bot doctor` lists the GPUs it finds")
        yield leases, leases.usual_gpus if requested_gpus is None else requested_gpus
