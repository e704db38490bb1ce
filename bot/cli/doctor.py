"""`bot doctor`: check every part, and show how to fix what fails."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.configuration import configured, model_settings, settings_file
from bot.cli.options import Config, Json, OneCompetition
from bot.cli.output import print_json
from state.errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from bot.configuration import Settings
    from bot.doctor import Finding


def doctor(
    competition: OneCompetition = None,
    out: Annotated[Path, typer.Option(help="folder that contains the runs")] = Path("runs"),
    config: Config = None,
    json: Json = False,
) -> None:
    """Check sandboxes, GPU, model, Kaggle, competitions, the daemon, disk and database.

    With a competition, configured or not, only Kaggle's key and that one are checked. Exits with 1 if something needed
    fails.

    Example: bot doctor spooky-author-identification
    """
    file = settings_file(config)
    findings = all_checks(out, file) if competition is None else _check_competition(competition, file)
    if not show_findings(findings, json=json):
        raise typer.Exit(1)


def show_findings(findings: "Iterable[Finding]", *, json: bool = False) -> bool:
    """Print each finding as soon as it is known; return whether nothing fails."""
    checks = []
    for finding in findings:
        checks.append(finding)
        if not json:
            fix = f" -> {finding.fix}" if finding.fix else ""
            typer.echo(f"{finding.status:8} {finding.part:15} {finding.result}{fix}")
    ok = all(finding.status != "fails" for finding in checks)
    if json:
        print_json({"ok": ok, "checks": [asdict(finding) for finding in checks]})
    return ok


def all_checks(out: Path, file: Path | None) -> "Iterator[Finding]":
    """Check every part, by a bot.toml (None: the defaults) and the folder of runs."""
    configuration, settings = _configuration(file)
    yield from configuration
    # Imported here, as everything below: the first finding need not wait for what makes the others.
    from bot.coder.coder_config import RESERVED
    from bot.doctor.daemon import check_daemon, check_daemon_database, check_notify, check_service
    from bot.doctor.kaggle import check_kaggle
    from bot.doctor.machine import check_database, check_disk, check_gpus, check_leases, check_sandboxes, check_share
    from bot.doctor.models import check_coders, check_models, is_foreign
    from bot.service.systemd import service_state
    from sandbox.gpu import open_gpus
    from sandbox.instance import instance_of

    models, daemon, competitions = model_settings(settings), settings.daemon, settings.competitions
    yield from check_share(settings.sandbox, out, daemon.slots)
    yield from check_sandboxes(settings.sandbox, instance_of(out), is_required=is_foreign(models))
    with open_gpus() as gpus:
        yield from check_gpus(gpus)
    yield from _check_fleet(settings)
    yield from check_models(models, [table.model for table in competitions.values()])
    coders = [table.coder for table in (settings.run, *competitions.values())]
    yield from check_coders(settings.coders, [coder for coder in coders if coder and coder not in RESERVED])
    yield from check_kaggle(settings.kaggle, competitions, rehearsal=daemon.rehearsal, state=daemon.folder)
    yield from check_notify(settings.notify)
    yield from check_daemon(daemon, settings.disk)
    yield from check_daemon_database(daemon.folder)
    yield from check_service(service_state())
    yield from check_disk(out, settings.disk)
    yield from check_database(out)
    yield from check_leases()


def _check_competition(slug: str, file: Path | None) -> "Iterator[Finding]":
    from bot.configuration.competition import CompetitionSettings
    from bot.doctor.kaggle import check_kaggle

    configuration, settings = _configuration(file)
    table = {slug: settings.competitions.get(slug, CompetitionSettings())}
    daemon = settings.daemon
    yield from (finding for finding in configuration if finding.status != "ok")
    yield from check_kaggle(settings.kaggle, table, rehearsal=daemon.rehearsal, state=daemon.folder)


def _check_fleet(settings: "Settings") -> "Iterator[Finding]":
    """Check the nodes of a fleet, if one is configured, against the sandbox that the bot would choose here."""
    if settings.fleet.address is None:
        return
    from bot.doctor import Finding
    from bot.extensions import extension
    from sandbox.choose import choose
    from sandbox.environments import chosen_environment

    try:
        environment = chosen_environment(settings.sandbox.environments_folder, settings.sandbox.environment)
    except UsageError:
        environment = None
    back_end = choose("auto", trusted=True, settings=settings.sandbox, environment=environment).describe()
    try:
        check_fleet = extension("checks", "fleet")
    except UsageError as error:
        yield Finding("fleet", "fails", str(error))
        return
    yield from check_fleet(settings.fleet, settings.sandbox, back_end)


def _configuration(file: Path | None) -> "tuple[list[Finding], Settings]":
    """Return the findings of the file, and its settings; if the file is wrong, the defaults, to continue with."""
    from bot.configuration import Settings
    from bot.doctor import Finding

    try:
        settings = configured(file)
    except ConfigurationError as error:
        fix = "fix this line; `bot config example` shows what is allowed. The other checks use the defaults"
        return [Finding("configuration", "fails", str(problem), fix) for problem in error.problems], Settings()
    description = str(file) if file else "no bot.toml: all settings are at their defaults"
    return [Finding("configuration", "ok", description)], settings
