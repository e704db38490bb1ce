"""Opening a machine's leases, and choosing the number of GPUs of an execution."""

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.gpu import open_gpus
from sandbox.leases import Leases, leases_folder
from sandbox.settings import LeaseSettings
from state.errors import UsageError


@contextmanager
def open_leases(settings: LeaseSettings, wanted: int | None) -> Iterator[tuple[Leases, int]]:
    """Open the machine's leases; yields them and the number of GPUs that an execution holds.

    Args:
        settings: the table `[leases]`.
        wanted: GPUs an execution; None: one if there is one.

    Raises:
        UsageError: there are fewer GPUs, or the folder of leases cannot be used.
    """
    try:
        folder = leases_folder()
    except OSError as error:
        raise UsageError(f"the folder of leases cannot be used (BOT_LEASES names another): {error}") from error
    with open_gpus() as gpus:
        leases = Leases(folder, gpus=gpus, gpu_shares=settings.gpu_shares)
        if wanted is not None and wanted > leases.gpus:
            raise UsageError(f"--gpus {wanted}: this machine has {leases.gpus}; `bot doctor` lists those it finds")
        yield leases, min(1, leases.gpus) if wanted is None else wanted
