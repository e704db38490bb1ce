"""`bot doctor`: check every part, and show how to fix what fails."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configured import configured, model_settings, settings_file
from bot.cli.options import Config, Json, OneCompetition
from bot.cli.output import print_json
from bot.configuration import Settings
from bot.configuration.competition import CompetitionSettings
from bot.doctor import Check
from bot.doctor.coders import check_coders
from bot.doctor.daemon import (
    check_backups,
    check_daemon,
    check_daemon_database,
    check_log_file,
    check_notify,
    check_service,
)
from bot.doctor.fleet import check_fleet
from bot.doctor.gpus import check_devices, check_gpus, check_toolkit
from bot.doctor.kaggle import check_kaggle
from bot.doctor.machine import (
    check_database,
    check_disk,
    check_leases,
    check_share,
)
from bot.doctor.models import check_models, is_foreign
from bot.doctor.sandboxes import (
    check_bubblewrap,
    check_docker,
    check_environment,
    check_isolation,
    description_here,
    engine_info,
)
from bot.service.status import status_here
from sandbox.gpu import open_gpus
from sandbox.image.engine import ENGINE_FAILURES
from sandbox.instance import instance_of
from state.errors import ConfigurationError


def doctor(
    competition: OneCompetition = None,
    out: Annotated[Path, typer.Option(help="folder that runs are written to")] = Path("runs"),
    config: Config = None,
    json: Json = False,
) -> None:
    """Check every part: sandboxes, GPU, model, Kaggle and the competitions, the daemon, disk, database.

    With a competition, configured or not, only Kaggle's key and that one are checked: whether it is entered, of a kind that
    the bot works on, and certain. Exits with 1 if something needed fails.

    Example: bot doctor spooky-author-identification
    """
    file = settings_file(config)
    checks = list(all_checks(out, file) if competition is None else _of_competition(competition, file))
    if not show_checks(checks, json=json):
        raise typer.Exit(1)


def show_checks(checks: Sequence[Check], *, json: bool = False) -> bool:
    """Print the checks; return whether none fails."""
    ok = all(check.status != "fails" for check in checks)
    if json:
        print_json({"ok": ok, "checks": [asdict(check) for check in checks]})
        return ok
    for check in checks:
        fix = f" -> {check.fix}" if check.fix else ""
        typer.echo(f"{check.status:8} {check.part:15} {check.found}{fix}")
    return ok


def _of_competition(slug: str, file: Path | None) -> list[Check]:
    configuration, settings = _configuration(file)
    table = {slug: settings.competitions.get(slug, CompetitionSettings())}
    wrong = [one for one in configuration if one.status != "ok"]
    daemon = settings.daemon
    return [*wrong, *check_kaggle(settings.kaggle, table, rehearsal=daemon.rehearsal, state=daemon.folder)]


def all_checks(out: Path, file: Path | None) -> Iterator[Check]:
    """Check every part, by a bot.toml (None: the defaults) and the folder that runs are written to."""
    configuration, settings = _configuration(file)
    models = model_settings(settings)
    yield from configuration
    yield check_share(settings.sandbox, out, settings.daemon.slots)
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
    if settings.fleet.address is not None:
        yield from check_fleet(settings.fleet, settings.sandbox, description_here(environment, sandboxes))
    yield from check_models(models, [one.model for one in settings.competitions.values()])
    yield from check_coders(settings.coders, filter(None, (one.coder for one in settings.competitions.values())))
    daemon = settings.daemon
    yield from check_kaggle(settings.kaggle, settings.competitions, rehearsal=daemon.rehearsal, state=daemon.folder)
    yield check_notify(settings.notify)
    yield check_daemon(settings.daemon, settings.disk)
    yield check_daemon_database(settings.daemon.folder)
    yield check_backups(settings.daemon.folder, datetime.now(UTC))
    yield from filter(None, (check_log_file(settings.daemon), check_service(status_here())))
    yield check_disk(out, settings.disk)
    yield check_database(out)
    yield check_leases()


def _configuration(file: Path | None) -> tuple[list[Check], Settings]:
    """Return the check of the file, and its settings; if the file is wrong, the defaults, to go on with."""
    try:
        settings = configured(file)
    except ConfigurationError as error:
        fix = "fix that line; `bot config example` shows what is allowed. The other checks use the defaults"
        return [Check("configuration", "fails", str(one), fix) for one in error.problems], Settings()
    return [
        Check("configuration", "ok", str(file) if file else "there is no bot.toml: all settings are the defaults")
    ], settings


def _engine() -> dict[str, object] | None:
    try:
        return dict(engine_info())
    except ENGINE_FAILURES:
        return None
