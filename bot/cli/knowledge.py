"""`bot knowledge`: the knowledge base: what is in it, whether it is in order, and what is added to it."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configured import configured, model_settings, redactor_of
from bot.cli.options import Config, Json
from bot.cli.output import print_json, print_result, print_table
from bot.knowledge.base import SHIPPED, KnowledgeBase, read_folder, write_entry
from bot.knowledge.entry import Entry, format_entry, read_entry
from bot.models.quoting import clean
from state.clock import SystemClock
from state.errors import FileProblems, UsageError

Model = Annotated[
    str | None,
    typer.Option(help="builtin or openai:NAME; default: the configured one if there is a key, else builtin"),
]
MaxCost = Annotated[float | None, typer.Option(min=0, help="cap in USD of this command")]
Out = Annotated[Path | None, typer.Option(help="folder for the entries; default: that of [knowledge] in bot.toml")]

build_app = typer.Typer(name="build", help="Build entries from past competitions or own runs.", no_args_is_help=True)


@build_app.command()
def tricks(
    paths: Annotated[
        list[Path], typer.Argument(help="snapshots, MLE-Live folders, or the daemon's bot.db, which is only read")
    ],
    most: Annotated[int, typer.Option(min=1, help="write-ups, and kernels, that are read of a competition")] = 6,
    model: Model = None,
    max_cost: MaxCost = None,
    config: Config = None,
    out: Out = None,
) -> None:
    """Draw tricks from past competitions: a model reads the most telling write-ups and the strongest kernels.

    An entry is known since the latest of the posts that it was drawn from. A document that was read before is not paid for again.

    Example: bot knowledge build tricks snapshots/spooky-author-identification --most 3
    """
    from bot.agents.builtin import BUILT_IN
    from bot.curation.asking import open_asker
    from bot.curation.communities import open_communities
    from bot.curation.tricks import tricks_of
    from bot.evaluation.metrics.registry import METRIC_DIRECTIONS

    settings, folder, clock = configured(config), _folder(config, out), SystemClock()
    models, redactor = model_settings(settings), redactor_of(settings)
    choice = models.resolve(model)

    async def build() -> list[Entry]:
        builtin = lambda: BUILT_IN.model(0)  # noqa: E731
        entries: list[Entry] = []
        async with open_asker(folder, choice, models, builtin, clock, redactor, max_cost, _say) as asker:
            for path in paths:
                async with open_communities(path, clock, METRIC_DIRECTIONS, _say) as competitions:
                    for competition in competitions:
                        entries += await tricks_of(competition, asker, most, _say)
            cost = asker.totals.cost_usd
            _say(f"{asker.totals.calls} model calls so far, {'unknown cost' if cost is None else f'${cost:.2f}'}")
        return entries

    _write(asyncio.run(build()), folder)


@build_app.command()
def lessons(
    runs: Annotated[list[Path], typer.Argument(help="folders of finished runs, or the daemon's bot.db")],
    config: Config = None,
    out: Out = None,
) -> None:
    """Draw lessons from own finished runs: what gained and what did not, by paired differences on withheld rows.

    No model is asked, and graded answers are never read.

    Example: bot knowledge build lessons runs/*
    """
    from bot.curation.lessons import lessons_of

    _write([entry for path in runs for entry in lessons_of(path, SystemClock())], _folder(config, out))


def _write(entries: Sequence[Entry], folder: Path) -> None:
    for entry in entries:
        typer.echo(str(write_entry(folder, entry)))
    _say(f"{len(entries)} entries written")


def _folder(config: Path | None, out: Path | None) -> Path:
    return out or configured(config).knowledge.folder


def _say(line: str) -> None:
    typer.echo(line, err=True)


Label = Annotated[str | None, typer.Option(help="a label, or a top category")]

knowledge_app = typer.Typer(
    name="knowledge",
    help="The knowledge base: dated entries from papers, past competitions and own runs, for drafts and improvements.",
    no_args_is_help=True,
)
knowledge_app.add_typer(build_app)


@knowledge_app.command("list")
def list_entries(
    label: Label = None,
    kind: Annotated[str | None, typer.Option(help="trick, paper or lesson")] = None,
    as_of: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="only what was known when that day began (UTC)")
    ] = None,
    without: Annotated[str | None, typer.Option(help="only what was not drawn from this competition")] = None,
    config: Config = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object per entry")] = False,
) -> None:
    """List the entries that come with the bot and those of your folder.

    Example: bot knowledge list --label tabular --as-of 2018-01-01
    """
    entries = _base(config).visible(without or "", as_of.replace(tzinfo=UTC) if as_of else None)
    if label is not None:
        entries = [one for one in entries if any(label in (name, name.partition("/")[0]) for name in one.labels)]
    if kind is not None:
        entries = [one for one in entries if one.kind == kind]
    if json:
        for entry in entries:
            print_json(entry.model_dump(mode="json"))
        return
    rows = [(e.id, e.kind, f"{e.known_at:%Y-%m-%d}", e.support, ", ".join(e.labels), e.title) for e in entries]
    print_table(("id", "kind", "known since", "support", "labels", "title"), rows, title=f"{len(rows)} entries")


@knowledge_app.command()
def show(
    id: Annotated[str, typer.Argument(help="the entry's id")],
    config: Config = None,
    json: Json = False,
) -> None:
    """Show an entry in full, as its file has it.

    Example: bot knowledge show out-of-fold-target-encoding
    """
    found = {entry.id: entry for entry in _base(config).entries}
    if id not in found:
        raise UsageError(f"there is no entry {id}: `bot knowledge list` shows all ids")
    if json:
        print_json(found[id].model_dump(mode="json"))
    else:
        typer.echo(clean(format_entry(found[id])), nl=False)


@knowledge_app.command()
def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="files or folders of entries; default: the bot's own and your folder")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Check that each entry has labels of the set, a date, and a source that can be traced; list all that is wrong.

    Exits with 1 if anything is.

    Example: bot knowledge check knowledge/
    """
    folders = paths or [SHIPPED, configured(config).knowledge.folder]
    entries, problems = list[Entry](), list[Any]()
    for path in folders:
        found, wrong = read_folder(path)
        entries += found
        problems += wrong
        if path in (paths or ()) and not found and not wrong:
            raise UsageError(f"{path}: there is no entry, which is a file that ends in .md")
    shown = [{"file": one.file, "line": one.line, "message": one.message} for one in problems]
    total = f"{len(entries)} entries are in order" + (f", {len(problems)} problem(s)" if problems else "")
    record = {"ok": not problems, "entries": len(entries), "problems": shown}
    print_result(record, *map(str, problems), total, json=json)
    raise typer.Exit(1 if problems else 0)


@knowledge_app.command()
def add(
    files: Annotated[list[Path], typer.Argument(help="files of entries")],
    config: Config = None,
) -> None:
    """Check entries that you have written, and copy them into your folder; an entry with the same id is replaced.

    Example: bot knowledge add rank-average.md
    """
    entries, problems = list[Entry](), list[Any]()
    for file in files:
        try:
            entries.append(read_entry(file))
        except FileProblems as error:
            problems += error.problems
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
    if problems:
        # None is added where one is wrong: the same command can be given again.
        raise FileProblems(problems)
    folder = configured(config).knowledge.folder
    for entry in entries:
        typer.echo(str(write_entry(folder, entry)))


def _base(config: Path | None) -> KnowledgeBase:
    base = KnowledgeBase.read(configured(config).knowledge.folder)
    for problem in base.problems:
        typer.echo(f"left out: {problem}", err=True)
    return base
