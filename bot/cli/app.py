"""The command tree: a command's module is imported when the command runs, so that none pays for the others."""

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from bot.extensions import declared

COMMANDS = {
    "run": "bot.cli.run:run",
    "replay": "bot.cli.replay:replay",
    "solve": "bot.cli.solve:solve",
    "resume": "bot.cli.resume:resume",
    "grade": "bot.cli.grade:grade",
    "status": "bot.cli.status:status",
    "submissions": "bot.cli.submissions:submissions",
    "submit": "bot.cli.submit:submit",
    "approve": "bot.cli.approve:approve",
    "logs": "bot.cli.logs:logs",
    "note": "bot.cli.steering:note",
    "pause": "bot.cli.steering:pause",
    "unpause": "bot.cli.steering:unpause",
    "stop": "bot.cli.steering:stop",
    "web": "bot.cli.web:web",
    "ideas": "bot.cli.pools:ideas",
    "reports": "bot.cli.pools:reports",
    "prune": "bot.cli.prune:prune",
    "doctor": "bot.cli.doctor:doctor",
    "init": "bot.cli.init:init",
    "keys": "bot.cli.keys:keys_app",
    "config": "bot.cli.config:config_app",
    "snapshot": "bot.cli.snapshot:snapshot_app",
    "env": "bot.cli.env:env_app",
    "knowledge": "bot.cli.knowledge:knowledge_app",
    "weights": "bot.cli.weights:weights_app",
    "notify": "bot.cli.notify:notify_app",
    "service": "bot.cli.service:service_app",
}
"""Each command's module and its function or group; more are declared as entry points, `GROUP.NAME` for one in a group."""


@cache
def all_commands() -> dict[str, str]:
    """Return the commands of the bot and of what is installed beside it."""
    return {**COMMANDS, **declared("commands")}


class _LazyGroup(TyperGroup):
    """Lists commands with their first paragraphs, and imports only the one that is used."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        group = "" if self.name == "bot" else self.name
        self._paths = {path.rpartition(".")[2]: path for path in all_commands() if path.rpartition(".")[0] == group}
        self.commands.update({name: TyperCommand(name) for name in self._paths})

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for name, path in self._paths.items():
            self.commands[name].short_help = _summary(all_commands()[path])
        super().format_commands(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, arguments = super().resolve_command(ctx, args)
        return name, _imported(self._paths[name]) if name in self._paths else command, arguments


app = typer.Typer(
    name="bot",
    cls=_LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    # Plain text: the library that draws boxes takes longer to import than everything else that the help needs.
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)


@app.callback()
def _bot() -> None:
    """A bot that competes on Kaggle by itself, and replays past competitions under a clock."""


def _summary(place: str) -> str:
    """Return the first paragraph of a command's help by its source, as importing all commands takes seconds.

    Parsing all of a file takes longer than all else that is done for the help: only the statement is parsed.
    """
    module, _, attribute = place.partition(":")
    spec = find_spec(module)
    source = Path(str(spec and spec.origin)).read_text(encoding="utf-8")
    statement = re.search(rf"^(?:def {attribute}\(|{attribute} = ).*?^(?=[^\s)]|\Z)", source, re.MULTILINE | re.DOTALL)
    if statement is None:
        raise LookupError(f"{module} has no command {attribute}")
    node = ast.parse(statement[0]).body[0]
    if isinstance(node, ast.FunctionDef):
        return (ast.get_docstring(node) or "").partition("\n\n")[0]
    group = cast(ast.Call, cast(ast.Assign, node).value)
    return str(next(ast.literal_eval(keyword.value) for keyword in group.keywords if keyword.arg == "help"))


def _imported(path: str) -> Any:
    name = path.rpartition(".")[2]
    target = resolve_name(all_commands()[path])
    holder = typer.Typer(rich_markup_mode=None)
    if isinstance(target, typer.Typer):
        holder.add_typer(target, cls=_LazyGroup)
    else:
        holder.command(name)(target)
    command: Any = get_group(holder).commands[name]
    _list_whole_summaries(command)
    return command


def _list_whole_summaries(command: Any) -> None:
    """Make a group list its commands with their whole first paragraphs, which are otherwise cut to one line."""
    for inner in getattr(command, "commands", {}).values():
        inner.short_help = (inner.help or "").partition("\n\n")[0]
        _list_whole_summaries(inner)
