"""`bot doctor`: check every part, and say how to mend what fails."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.output import print_json
from bot.configuration import read_section
from bot.doctor import Check
from bot.doctor.gpus import check_devices, check_gpus, check_toolkit
from bot.doctor.machine import (
    check_cgroups,
    check_database,
    check_disk,
    check_leases,
    check_memory,
    check_python,
)
from bot.doctor.models import check_fallbacks, check_model, is_foreign
from bot.doctor.sandboxes import check_bubblewrap, check_docker, check_isolation, engine_info
from bot.models.settings import load_settings
from bot.runs.disk import DiskSettings
from sandbox.docker import DockerSettings
from sandbox.engine import ENGINE_FAILURES
from sandbox.gpu import open_gpus
from sandbox.instance import instance_of


def doctor(
    out: Annotated[Path, typer.Option(help="folder that runs are written to")] = Path("runs"),
    config: Annotated[Path | None, typer.Option(help="bot.toml; default: ./bot.toml if it exists")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Check every part: Python, sandboxes, GPU, model, Kaggle, disk, database. Exits with 1 if something needed fails.

    Example: bot doctor --out runs
    """
    default = Path("bot.toml")
    checks = list(_checks(out, config or (default if default.is_file() else None)))
    ok = all(check.status != "fails" for check in checks)
    if json:
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            mend = f" -> {check.mend}" if check.mend else ""
            typer.echo(f"{check.status:8} {check.part:15} {check.found}{mend}")
    if not ok:
        raise typer.Exit(1)


def _checks(out: Path, file: Path | None) -> Iterator[Check]:
    models, disk = load_settings(file), read_section(file, "disk", DiskSettings)
    yield check_python()
    yield check_memory()
    yield check_cgroups()
    sandboxes = [check_bubblewrap(), check_docker(instance_of(out), read_section(file, "sandbox", DockerSettings))]
    yield from sandboxes
    yield check_isolation(sandboxes, needed=is_foreign(models))
    with open_gpus() as gpus:
        yield check_gpus(gpus)
        if gpus.all():
            yield check_devices(gpus)
            yield check_toolkit(_engine())
    yield check_model(models)
    yield from check_fallbacks(models)
    yield _kaggle(file)
    yield _notify(file)
    yield check_disk(out, disk)
    yield check_database(out)
    yield check_leases()


def _kaggle(file: Path | None) -> Check:
    # Here, as no other command should pay for what they import.
    from bot.doctor.kaggle import check_kaggle
    from scrapers.kaggle.settings import KaggleSection

    return check_kaggle(read_section(file, "kaggle", KaggleSection))


def _engine() -> dict[str, object] | None:
    try:
        return dict(engine_info())
    except ENGINE_FAILURES:
        return None


def _notify(file: Path | None) -> Check:
    from bot.doctor.notify import check_notify
    from bot.notify.settings import NotifySection

    return check_notify(read_section(file, "notify", NotifySection))
