"""`bot doctor`: check every part, and say how to mend what fails."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.configured import configured, model_settings, settings_file
from bot.cli.output import print_json
from bot.doctor import Check
from bot.doctor.gpus import check_devices, check_gpus, check_toolkit
from bot.doctor.machine import (
    check_cgroups,
    check_database,
    check_disk,
    check_leases,
    check_python,
    check_share,
)
from bot.doctor.models import check_models, is_foreign
from bot.doctor.sandboxes import check_bubblewrap, check_docker, check_environment, check_isolation, engine_info
from sandbox.engine import ENGINE_FAILURES
from sandbox.gpu import open_gpus
from sandbox.instance import instance_of
from state.errors import ConfigurationError

if TYPE_CHECKING:
    from bot.configuration import Settings


def doctor(
    out: Annotated[Path, typer.Option(help="folder that runs are written to")] = Path("runs"),
    config: Annotated[Path | None, typer.Option(help="bot.toml; default: ./bot.toml if it exists")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Check every part: Python, sandboxes, GPU, model, Kaggle and the competitions, the daemon, disk, database.

    Exits with 1 if something needed fails.

    Example: bot doctor --out runs
    """
    checks = list(_checks(out, settings_file(config)))
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
    from bot.doctor.notify import check_notify  # here, as no other command should pay for what it imports

    configuration, settings = _configuration(file)
    models = model_settings(settings)
    yield check_python()
    yield from configuration
    yield check_share(settings.sandbox, out, settings.daemon.slots)
    yield check_cgroups()
    named, environment = check_environment(settings.sandbox)
    yield named
    sandboxes = [check_bubblewrap(environment), check_docker(instance_of(out), settings.sandbox, environment)]
    yield from sandboxes
    yield check_isolation(sandboxes, needed=is_foreign(models))
    with open_gpus() as gpus:
        yield check_gpus(gpus)
        if gpus.all():
            yield check_devices(gpus)
            yield check_toolkit(_engine())
    yield from check_models(models)
    yield from _kaggle(settings)
    yield check_notify(settings.notify)
    yield from _daemon(settings)
    yield check_disk(out, settings.disk)
    yield check_database(out)
    yield check_leases()


def _configuration(file: Path | None) -> tuple[list[Check], "Settings"]:
    """Return what is found of the file, and its settings; those by default where it is wrong, to go on with."""
    try:
        settings = configured(file)
    except ConfigurationError as error:
        mend = "mend that line; `bot config example` shows what may stand there. The other checks go by the defaults"
        return [Check("configuration", "fails", str(one), mend) for one in error.problems], configured(None)
    return [Check("configuration", "ok", str(file) if file else "there is no bot.toml: all is as by default")], settings


def _kaggle(settings: "Settings") -> Iterator[Check]:
    # Here, as no other command should pay for what they import.
    from bot.doctor.competitions import check_competitions
    from bot.doctor.kaggle import check_kaggle

    yield check_kaggle(settings.kaggle, needed=bool(settings.competitions))
    yield from check_competitions(settings.kaggle, settings.competitions, rehearsal=settings.daemon.rehearsal)


def _daemon(settings: "Settings") -> Iterator[Check]:
    from bot.doctor import daemon
    from bot.service.status import status_here

    yield daemon.check_daemon(settings.daemon, settings.disk)
    yield daemon.check_daemon_database(settings.daemon.folder)
    yield daemon.check_backups(settings.daemon.folder, datetime.now(UTC))
    yield from filter(None, (daemon.check_log_file(settings.daemon), daemon.check_service(status_here())))


def _engine() -> dict[str, object] | None:
    try:
        return dict(engine_info())
    except ENGINE_FAILURES:
        return None
