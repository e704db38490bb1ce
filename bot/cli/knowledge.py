"""`bot knowledge`: list, show, check and add entries of the knowledge base."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configuration import configured
from bot.cli.options import Config, Json
from bot.cli.output import print_json, print_result, print_table
from bot.knowledge.base import SHIPPED, KnowledgeBase, read_folder, write_entry
from bot.knowledge.entry import Entry, format_entry, read_entry
from bot.models.quoting import clean
from state.errors import FileProblems, UsageError

Label = Annotated[str | None, typer.Option(help="only entries with this label or top-level category")]

knowledge_app = typer.Typer(
    name="knowledge",
    help="The knowledge base: dated entries from papers, past competitions and your runs.",
    no_args_is_help=True,
)


@knowledge_app.command("list")
def list_entries(
    label: Label = None,
    kind: Annotated[str | None, typer.Option(help="only entries of this kind: trick, paper or lesson")] = None,
    as_of: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], help="only entries dated before this day (UTC)")
    ] = None,
    without: Annotated[str | None, typer.Option(help="omit entries from this competition")] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List the bundled entries and your own.

    Example: bot knowledge list --label tabular --as-of 2018-01-01
    """
    entries = _base(config).visible(without or "", as_of.replace(tzinfo=UTC) if as_of else None)
    if label is not None:
        entries = [e for e in entries if any(label in (name, name.partition("/")[0]) for name in e.labels)]
    if kind is not None:
        entries = [e for e in entries if e.kind == kind]
    if json:
        for entry in entries:
            print_json(entry.model_dump(mode="json"))
        return
    rows = [(e.id, e.kind, f"{e.known_at:%Y-%m-%d}", e.support, ", ".join(e.labels), e.title) for e in entries]
    print_table(("id", "kind", "known since", "support", "labels", "title"), rows, title=f"{len(rows)} entries")


@knowledge_app.command()
def show(
    id: Annotated[str, typer.Argument(help="id of the entry")],
    config: Config = None,
    json: Json = False,
) -> None:
    """Show an entry in full.

    Example: bot knowledge show out-of-fold-target-encoding
    """
    by_id = {entry.id: entry for entry in _base(config).entries}
    if id not in by_id:
        raise UsageError(f"unknown entry {id}: `bot knowledge list` shows all ids")
    if json:
        print_json(by_id[id].model_dump(mode="json"))
    else:
        typer.echo(clean(format_entry(by_id[id])), nl=False)


@knowledge_app.command()
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="files or folders of entries (default: the bundled entries and yours)"),
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Check that each entry has known labels, a date and a source; list every problem.

    Exits with 1 if there are problems.

    Example: bot knowledge check knowledge/
    """
    folders = paths or [SHIPPED, configured(config).knowledge.folder]
    entries, problems = list[Entry](), list[Any]()
    for path in folders:
        read_entries, wrong = read_folder(path)
        entries += read_entries
        problems += wrong
        if path in (paths or ()) and not read_entries and not wrong:
            raise UsageError(f"{path}: no entries found (entries are .md files)")
    problem_records = [{"file": p.file, "line": p.line, "message": p.message} for p in problems]
    total = f"{len(entries)} entries are valid" + (f", {len(problems)} problem(s)" if problems else "")
    record = {"ok": not problems, "entries": len(entries), "problems": problem_records}
    print_result(record, *map(str, problems), total, json=json)
    raise typer.Exit(1 if problems else 0)


@knowledge_app.command()
def add(
    files: Annotated[list[Path], typer.Argument(help="entry files to add")],
    config: Config = None,
) -> None:
    """Check entries, and copy them into your folder; an entry with the same id is replaced.

    Example: bot knowledge add rank-average.md
    """
    entries, problems = list[Entry](), list[Any]()
    for file in files:
        try:
            entries.append(read_entry(file))
        except FileProblems as error:
            problems += error.problems
        except OSError as error:
            raise UsageError(f"cannot read {file}: {error}") from error
    if problems:
        # None is added where one is wrong: the same command can be given again.
        raise FileProblems(problems)
    folder = configured(config).knowledge.folder
    for entry in entries:
        typer.echo(str(write_entry(folder, entry)))


def _base(config: Path | None) -> KnowledgeBase:
    base = KnowledgeBase.read(configured(config).knowledge.folder)
    for problem in base.problems:
        typer.echo(f"skipped: {problem}", err=True)
    return base
