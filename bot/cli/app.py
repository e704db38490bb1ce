"""The command tree: a command's module is imported when the command runs, so that none pays for the others."""

import ast
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

COMMANDS = {
    "run": "bot.cli.run:run",
    "replay": "bot.cli.replay:replay",
    "solve": "bot.cli.solve:solve",
    "resume": "bot.cli.resume:resume",
    "blend": "bot.cli.blend:blend",
    "bench": "bot.cli.bench:bench",
    "compare": "bot.cli.compare:compare",
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
    "rehearse": "bot.cli.rehearse:rehearse",
    "audit": "bot.cli.audit:audit",
    "prune": "bot.cli.prune:prune",
    "doctor": "bot.cli.doctor:doctor",
    "init": "bot.cli.init:init",
    "keys": "bot.cli.keys:keys_app",
    "probe": "bot.cli.probe:probe",
    "config": "bot.cli.config:config_app",
    "snapshot": "bot.cli.snapshot:snapshot_app",
    "env": "bot.cli.env:env_app",
    "coder": "bot.cli.coder:coder_app",
    "knowledge": "bot.cli.knowledge:knowledge_app",
    "weights": "bot.cli.weights:weights_app",
    "notify": "bot.cli.notify:notify_app",
    "service": "bot.cli.service:service_app",
}
"""Each command's module and its function or group."""


class _LazyGroup(TyperGroup):
    """Lists commands with their first paragraphs, and imports only the one that is used."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: TyperCommand(name) for name in COMMANDS}

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for name, command in self.commands.items():
            command.short_help = _summary(name)
        super().format_commands(ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, _imported(name) if name else command, rest


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


def _summary(name: str) -> str:
    """Return the first paragraph of a command's help by its source, as importing all commands takes seconds."""
    module, _, attribute = COMMANDS[name].partition(":")
    source = Path(__file__).with_name(f"{module.rpartition('.')[2]}.py")
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == attribute:
            return (ast.get_docstring(node) or "").partition("\n\n")[0]
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == attribute:
            group = cast(ast.Call, node.value)
            return str(next(ast.literal_eval(one.value) for one in group.keywords if one.arg == "help"))
    raise LookupError(f"{module} has no command {attribute}")


def _imported(name: str) -> Any:
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(import_module(module), attribute)
    holder = typer.Typer(rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        holder.add_typer(found)
    else:
        holder.command(name)(found)
    command = get_group(holder).commands[name]
    _list_whole_summaries(command)
    return command


def _list_whole_summaries(command: Any) -> None:
    """Make a group list its commands with their whole first paragraphs, which are otherwise cut to one line."""
    for one in getattr(command, "commands", {}).values():
        one.short_help = (one.help or "").partition("\n\n")[0]
        _list_whole_summaries(one)
