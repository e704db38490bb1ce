"""`bot env`: environments, the packages that scripts run with, apart from the bot's own."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configured import configured
from bot.cli.options import Config, Json
from bot.cli.output import print_json, print_result, print_table
from sandbox import BackEndChoice
from sandbox.check_environment import check_environment
from sandbox.choose import choose
from sandbox.environments import DEFAULT, GROUPS, Environment, Group, environment_named, environments_in
from sandbox.make_environment import (
    Recipe,
    configured_installer,
    estimate_gigabytes,
    make_environment,
    remove_environment,
)
from state.errors import UsageError

env_app = typer.Typer(
    name="env", help="Environments: the packages that scripts run with, apart from the bot's own.", no_args_is_help=True
)


@env_app.command()
def create(
    name: Annotated[str, typer.Argument(help="its name; `default` is used unless bot.toml names another")] = DEFAULT,
    with_: Annotated[
        str,
        typer.Option(
            "--with", help="tabular, text, vision, audio or all; several with commas; tabular is always included"
        ),
    ] = "tabular",
    cuda: Annotated[bool, typer.Option("--cuda", help="torch and XGBoost for NVIDIA's GPUs")] = False,
    requirements: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="a requirements file for pip with more packages")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Create an environment for scripts, which is used from then on; if interrupted, run the same command again.

    Example: bot env create --with text
    """
    folder = _folder(config)
    recipe = Recipe(_groups(with_), cuda, requirements, configured_installer())
    more = " and what the requirements need" if requirements else ""
    typer.echo(
        f"creating {folder / name} with {recipe.installer}: {', '.join(recipe.groups)} take about "
        f"{estimate_gigabytes(recipe):.1f} GB of disk{more}, and minutes on a quick network",
        err=True,
    )
    made = make_environment(folder, name, recipe)
    line = f"{name}: {made.about()}, made in {made.record.seconds:.0f} s; `bot env check {name}` tests it"
    print_result(_record(made), line, json=json)


@env_app.command("list")
def list_environments(config: Config = None, json: Json = False) -> None:
    """List the environments.

    Example: bot env list
    """
    folder = _folder(config)
    complete, begun = environments_in(folder)
    if json:
        print_json({"dir": str(folder), "environments": [_record(one) for one in complete], "incomplete": begun})
        return
    rows = [(one.name, one.about(), f"{one.record.made:%Y-%m-%d}") for one in complete]
    rows += [(name, f"incomplete: `bot env create {name}` finishes it", "") for name in begun]
    print_table(("name", "contents", "created"), rows, title=str(folder))


@env_app.command()
def check(
    name: Annotated[str, typer.Argument(help="the environment's name")] = DEFAULT,
    sandbox: Annotated[BackEndChoice, typer.Option(help="the sandbox to test it in")] = "auto",
    config: Config = None,
    json: Json = False,
) -> None:
    """Test an environment: import each package in the sandbox, and fit a tiny model with each library that can.

    Exits with 1 if something does not work.

    Example: bot env check
    """
    settings = configured(config).sandbox
    environment = environment_named(settings.environments_folder, name)
    back_end = choose(sandbox, trusted=True, settings=settings, environment=environment)
    found = check_environment(back_end, environment)
    ok = all(one.error is None for one in found.trials) and found.error is None
    used = back_end.describe().name
    lines = [
        f"{'ok' if one.error is None else 'fails':6} {one.seconds:6.2f} s  {one.what}  {one.error or ''}".rstrip()
        for one in found.trials
    ]
    lines += [found.error] if found.error else []
    lines += [f"{name} under {used}: {'all of it works' if ok else 'not all of it works'}"]
    record = {"ok": ok, "sandbox": used, "error": found.error, "trials": [asdict(one) for one in found.trials]}
    print_result(record, *lines, json=json)
    raise typer.Exit(0 if ok else 1)


@env_app.command()
def remove(name: Annotated[str, typer.Argument(help="the environment's name")], config: Config = None) -> None:
    """Remove an environment; no bot should be running scripts in it.

    Example: bot env remove vision
    """
    remove_environment(_folder(config), name)
    typer.echo(f"removed {name}")


def _groups(names: str) -> tuple[Group, ...]:
    chosen = {"tabular", *map(str.strip, names.split(","))}
    if unknown := chosen - {*GROUPS, "all"}:
        raise UsageError(
            f"--with takes {', '.join(GROUPS)} or all, several with commas, not {', '.join(sorted(unknown))}"
        )
    return tuple(group for group in GROUPS if "all" in chosen or group in chosen)


def _folder(config: Path | None) -> Path:
    return configured(config).sandbox.environments_folder


def _record(environment: Environment) -> dict[str, Any]:
    return {"name": environment.name, "path": str(environment.path), **environment.record.model_dump(mode="json")}
