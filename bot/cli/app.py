"""The command tree: a command's module is imported when the command runs, so that none pays for the others."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

COMMANDS = {
    "run": (
        "bot.cli.run:run",
        "Compete in the configured competitions until stopped: watch, learn, train, submit, and notify the owner.",
    ),
    "replay": (
        "bot.cli.replay:replay",
        "Replay past competitions under their clock, and compare what is handed in with the real leaderboard.",
    ),
    "solve": (
        "bot.cli.solve:solve",
        "Solve a task of your own: find out what is to be predicted, search, and hand back predictions, script and report.",
    ),
    "resume": (
        "bot.cli.resume:resume",
        "Finish runs: what was paid for, trained or decided is not done again; finished runs are only shown.",
    ),
    "blend": (
        "bot.cli.blend:blend",
        "Blend the scripts of finished replays of one competition: several seeds and agents together, without a model.",
    ),
    "bench": (
        "bot.cli.bench:bench",
        "Run competitions x agents x models x seeds as one piece of work under one budget, and compare the agents.",
    ),
    "compare": (
        "bot.cli.compare:compare",
        "Compare agents over finished replays: paired by competition and seed, with intervals and what can be concluded.",
    ),
    "grade": (
        "bot.cli.grade:grade",
        "Grade a submission file: validity with reasons, score, medals, win rate. Or a list of files for many competitions.",
    ),
    "status": (
        "bot.cli.status:status",
        "Show the status of the daemon and each of its competitions: what it does, waits for, has spent, and does next.",
    ),
    "submissions": (
        "bot.cli.submissions:submissions",
        "Show what was submitted and what waits, with both scores and the reason; and the last decision not to submit.",
    ),
    "submit": (
        "bot.cli.submit:submit",
        "Have one node's file submitted: with the same checks as any other, but whatever its validation score.",
    ),
    "approve": (
        "bot.cli.approve:approve",
        "Approve a held submission; the daemon sends it with the same checks as any other.",
    ),
    "logs": (
        "bot.cli.logs:logs",
        "Show what happened: the events in the daemon's database, while it runs or afterwards.",
    ),
    "note": (
        "bot.cli.steering:note",
        "Leave a note on a competition: the next prompts hold it, dated and marked as the owner's, and it is kept.",
    ),
    "pause": (
        "bot.cli.steering:pause",
        "Start nothing new on a competition until `bot unpause`; what runs may end, and posts are still read.",
    ),
    "unpause": ("bot.cli.steering:unpause", "Go on with a competition that was paused or stopped."),
    "stop": (
        "bot.cli.steering:stop",
        "End the work on a competition in order: its result and report are written, and nothing more is submitted.",
    ),
    "web": (
        "bot.cli.web:web",
        "Serve a page on this machine that shows all competitions and runs as they go on, and takes your orders.",
    ),
    "ideas": (
        "bot.cli.pools:ideas",
        "Show the pool of ideas, best supported first: the evidence for each, whether it was tried, and its sources.",
    ),
    "reports": (
        "bot.cli.pools:reports",
        "Show the reports on what was tried, or one of them in full.",
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
        "Remove what killed runs left behind (containers, processes, work folders) and the views of runs that ended long ago.",
    ),
    "restore": (
        "bot.cli.restore:restore",
        "Replace a damaged database by its automatic backup, or by another one; the damaged file is kept aside, never deleted.",
    ),
    "doctor": (
        "bot.cli.doctor:doctor",
        "Check every part: sandboxes, GPU, model, Kaggle and the competitions, the daemon, disk, database.",
    ),
    "init": (
        "bot.cli.init:init",
        "Write a bot.toml for a competition that you have entered, check it, and name the next command.",
    ),
    "keys": ("bot.cli.keys:keys_app", "The bot's keys: where they are kept."),
    "probe": (
        "bot.cli.probe:probe",
        "Ask Kaggle at most 18 questions that change nothing, and show which of the bot's assumptions hold.",
    ),
    "config": ("bot.cli.config:config_app", "Check, show or begin the file bot.toml."),
    "snapshot": ("bot.cli.snapshot:snapshot_app", "Check, import or write snapshots."),
    "env": ("bot.cli.env:env_app", "Environments: the packages that scripts run with, apart from the bot's own."),
    "coder": ("bot.cli.coder:coder_app", "Your own coding agents, the tables [coders.NAME] of bot.toml."),
    "knowledge": (
        "bot.cli.knowledge:knowledge_app",
        "The knowledge base: dated entries from papers, past competitions and own runs, for drafts and improvements.",
    ),
    "weights": ("bot.cli.weights:weights_app", "Pretrained weights that scripts find read-only in weights/."),
    "notify": ("bot.cli.notify:notify_app", "Messages to the owner."),
    "service": ("bot.cli.service:service_app", "The bot as a systemd service."),
}
"""Each command's function or group, and the first paragraph of its help, which `bot --help` shows without importing it."""


class _LazyGroup(TyperGroup):
    """Lists commands with their first paragraphs, and imports only the one that is used."""

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
    # Plain text: the library that draws boxes takes longer to import than everything else that the help needs.
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
    """Make a group list its commands with their whole first paragraphs, which are otherwise cut to one line."""
    for one in getattr(command, "commands", {}).values():
        one.short_help = (one.help or "").partition("\n\n")[0]
        _list_whole_summaries(one)
