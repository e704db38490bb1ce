"""`bot env`: environments, the packages that scripts run with, apart from the bot's own."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configuration import configured
from bot.cli.options import Config, Json
from bot.cli.output import print_json, print_result, print_table
from sandbox import BackEndChoice
from sandbox.check_environment import check_environment
from sandbox.choose import choose
from sandbox.environments import DEFAULT, GROUPS, Group, ScriptEnvironment, environment_named, environments_in
from sandbox.make_environment import (
    Recipe,
    configured_installer,
    estimate_gigabytes,
    make_environment,
    remove_environment,
)
from state.errors import UsageError

env_app = typer.Typer(
    name="env", help="Environments: packages for scripts, separate from the bot's own packages.", no_args_is_help=True
)


@env_app.command()
def create(
    name: Annotated[str, typer.Argument(help="name of the environment")] = DEFAULT,
    with_: Annotated[
        str,
        typer.Option(
            "--with",
            help="text, vision, audio or all, separated by commas; tabular is always included",
        ),
    ] = "tabular",
    cuda: Annotated[bool, typer.Option("--cuda", help="install torch and XGBoost for NVIDIA GPUs")] = False,
    requirements: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="pip requirements file with additional packages")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Create an environment for scripts, which is used from then on.

    If interrupted, run the same command again.

    Example: bot env create --with text
    """
    folder = _folder(config)
    recipe = Recipe(_groups(with_), cuda, requirements, configured_installer())
    extra = ", plus the requirements" if requirements else ""
    typer.echo(
        f"creating {folder / name} with {recipe.installer}: {', '.join(recipe.groups)} ({estimate_gigabytes(recipe):.1f} GB "
        f"of disk space{extra}); this takes a few minutes on a fast network",
        err=True,
    )
    environment = make_environment(folder, name, recipe)
    line = f"{name}: {environment.summary()}, created in {environment.record.seconds:.0f} s; `bot env check {name}` tests it"
    print_result(_record(environment), line, json=json)


@env_app.command("list")
def list_environments(config: Config = None, json: Json = False) -> None:
    """List the environments.

    Example: bot env list
    """
    folder = _folder(config)
    complete, incomplete = environments_in(folder)
    if json:
        print_json({"dir": str(folder), "environments": [_record(e) for e in complete], "incomplete": incomplete})
        return
    rows = [(e.name, e.summary(), f"{e.record.made:%Y-%m-%d}") for e in complete]
    rows += [(name, f"incomplete: `bot env create {name}` finishes it", "") for name in incomplete]
    print_table(("name", "contents", "created"), rows, title=str(folder))


@env_app.command()
def check(
    name: Annotated[str, typer.Argument(help="name of the environment")] = DEFAULT,
    sandbox: Annotated[BackEndChoice, typer.Option(help="sandbox to test in")] = "auto",
    config: Config = None,
    json: Json = False,
) -> None:
    """Import each package in the sandbox, and fit a tiny model with each library that can train one.

    Exits with 1 if something does not work.
    """
    settings = configured(config).sandbox
    environment = environment_named(settings.environments_folder, name)
    back_end = choose(sandbox, trusted=True, settings=settings, environment=environment)
    trials, error = check_environment(back_end, environment)
    ok = all(trial["error"] is None for trial in trials) and error is None
    back_end_name = back_end.describe().name
    lines = [
        f"{'fails' if t['error'] else 'ok':6} {t['seconds']:6.2f} s  {t['trial']}  {t['error'] or ''}".rstrip()
        for t in trials
    ]
    lines += [error] if error else []
    lines += [f"{name} in {back_end_name}: {'everything works' if ok else 'some tests failed'}"]
    record = {"ok": ok, "sandbox": back_end_name, "error": error, "trials": trials}
    print_result(record, *lines, json=json)
    raise typer.Exit(0 if ok else 1)


@env_app.command()
def remove(name: Annotated[str, typer.Argument(help="name of the environment")], config: Config = None) -> None:
    """Remove an environment that no bot is using.

    Example: bot env remove vision
    """
    remove_environment(_folder(config), name)
    typer.echo(f"removed {name}")


def _groups(names: str) -> tuple[Group, ...]:
    given_names = {"tabular", *map(str.strip, names.split(","))}
    if unknown := given_names - {*GROUPS, "all"}:
        raise UsageError(
            f"--with: unknown group {', '.join(sorted(unknown))}; use {', '.join(GROUPS)} or all, separated by commas"
        )
    return tuple(group for group in GROUPS if "all" in given_names or group in given_names)


def _folder(config: Path | None) -> Path:
    return configured(config).sandbox.environments_folder


def _record(environment: ScriptEnvironment) -> dict[str, Any]:
    return {"name": environment.name, "path": str(environment.path), **environment.record.model_dump(mode="json")}
