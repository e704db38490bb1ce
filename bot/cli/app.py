"""The command tree: each command's module is imported when the command runs, so that none pays for the others."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

COMMANDS = {
    "run": (
        "bot.cli.run:run",
        "Compete in the configured competitions until it is ended: watch, learn, train, submit, and notify the owner.",
    ),
    "replay": (
        "bot.cli.replay:replay",
        "Replay past competitions under their clock, and compare what is handed in with the real leaderboard.",
    ),
    "resume": (
        "bot.cli.resume:resume",
        "Finish runs: what was paid, trained or decided is not done again; finished runs are shown as they are.",
    ),
    "grade": (
        "bot.cli.grade:grade",
        "Grade a submission file: validity with reasons, score, medals, win rate. Or a list of them, of many competitions.",
    ),
    "status": (
        "bot.cli.status:status",
        "Show how the daemon and each of its competitions stand: what it does, waits for, has spent, and does next.",
    ),
    "submissions": (
        "bot.cli.submissions:submissions",
        "Show what was submitted and what waits, with both scores and why; and of what was decided otherwise the last.",
    ),
    "submit": (
        "bot.cli.submit:submit",
        "Have one node's file submitted: under the same checks as any other, but whatever its validation score.",
    ),
    "approve": (
        "bot.cli.approve:approve",
        "Let a held submission go; the daemon sends it under the same checks as any other.",
    ),
    "logs": (
        "bot.cli.logs:logs",
        "Show what happened: the events in the daemon's database, while it runs or afterwards.",
    ),
    "note": (
        "bot.cli.steering:note",
        "Leave a note on a competition: it goes into the next prompts as your word, marked and dated, and is kept.",
    ),
    "pause": (
        "bot.cli.steering:pause",
        "Begin nothing new on a competition until `bot unpause`; what runs ends, and posts are still read.",
    ),
    "unpause": ("bot.cli.steering:unpause", "Go on with a competition that was paused or stopped."),
    "stop": (
        "bot.cli.steering:stop",
        "End the work on a competition, in order: its result and report are written, and nothing more is sent.",
    ),
    "ideas": (
        "bot.cli.knowledge:ideas",
        "Show the pool of ideas, best supported first: what speaks for each, whether it was tried, and whose it is.",
    ),
    "reports": (
        "bot.cli.knowledge:reports",
        "Show the reports on what was tried, or with its number one in full.",
    ),
    "rehearse": (
        "bot.cli.rehearse:rehearse",
        "Play snapshots back as live competitions, for a daemon or the unmodified `kaggle` command to compete on.",
    ),
    "audit": (
        "bot.cli.audit:audit",
        "Check every prompt of a run against its database and the snapshot; exits with 1 if anything is found.",
    ),
    "prune": (
        "bot.cli.prune:prune",
        "Remove what killed runs left (containers, processes, work folders) and the views of runs that ended long ago.",
    ),
    "restore": (
        "bot.cli.restore:restore",
        "Put the automatic backup, or another one, in the place of a damaged database, which is kept aside, never deleted.",
    ),
    "doctor": (
        "bot.cli.doctor:doctor",
        "Check every part: sandboxes, GPU, model, Kaggle and the competitions, the daemon, disk, database.",
    ),
    "config": ("bot.cli.config:config_app", "Check, show or begin the file bot.toml."),
    "snapshot": ("bot.cli.snapshot:snapshot_app", "Check, import or write snapshots."),
    "env": ("bot.cli.env:env_app", "Environments: the packages that scripts run with, apart from the bot's own."),
    "weights": ("bot.cli.weights:weights_app", "Pretrained weights that scripts find read-only in weights/."),
    "notify": ("bot.cli.notify:notify_app", "Messages to the owner."),
    "service": ("bot.cli.service:service_app", "The bot as a service of systemd."),
}
"""Each command's function or group, and the first paragraph of its help: what `bot --help` shows without importing it."""


class _LazyGroup(TyperGroup):
    """Lists commands by their first paragraphs alone, and imports the one that is used."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = {name: TyperCommand(name, short_help=summary) for name, (_, summary) in COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, _imported(name) if name else command, rest


app = typer.Typer(
    name="bot",
    cls=_LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    # Plain text: what draws boxes takes longer to import than all else that the help needs.
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)


@app.callback()
def _bot() -> None:
    """A bot that competes on Kaggle by itself, and replays past competitions under a clock."""


def _imported(name: str) -> Any:
    module, _, attribute = COMMANDS[name][0].partition(":")
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
    """Have a group list its commands by their whole first paragraphs, which are cut to one line otherwise."""
    for one in getattr(command, "commands", {}).values():
        one.short_help = (one.help or "").partition("\n\n")[0]
        _list_whole_summaries(one)
