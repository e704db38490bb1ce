"""`bot ideas` and `bot reports`: what the daemon has learned, from its database, while it runs."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.daemon_reading import as_json, daemon_now, daemon_to_read, runs_of
from bot.cli.options import Config, Json, OneCompetition
from bot.cli.output import number, print_json, print_table
from bot.community.ideas.evidence import IdeaEvidence
from bot.engine.run_record import RunRecord
from bot.models.quoting import clean
from bot.status.knowledge import Source, read_ideas
from state.errors import UsageError
from state.tables import Report

if TYPE_CHECKING:
    from state.store import Store

_WIDTH = 100
_SHOWN_SOURCES = 4
_WITHOUT_DRAFT = {"draft": "the baseline", "reproduce": "a reproduced public notebook"}
"""Subject of a report without a draft, by its node's action."""


def ideas(
    competition: OneCompetition = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the ideas, best supported first, with evidence and sources.

    Support ranges from 0 to 10; 5 means that nothing is known. Measured gains of an idea take precedence over those of its
    sources, and these over claims in posts. Merged, split and retired ideas come last, with the reason.

    Example: bot ideas spooky-author-identification
    """
    with _runs(config, competition) as (store, runs):
        for run in runs:
            pool, sources = read_ideas(store, run, daemon_now(store))
            if json:
                for evidence in pool:
                    print_json(_idea_as_json(run, evidence, sources))
            else:
                _print_pool(run.row.competition, pool, sources)
    if not runs and not json:
        typer.echo("no run yet, so there are no ideas")


def reports(
    competition: OneCompetition = None,
    report: Annotated[
        str | None,
        typer.Argument(metavar="[NUMBER]", help="number of the report to show in full", show_default=False),
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show the reports on what was tried, or one in full.

    Example: bot reports spooky-author-identification 3
    """
    with _runs(config, competition) as (_, runs):
        for run in runs:
            rows = run.reports if report is None else [_find_report(run, report)]
            if json:
                for row in rows:
                    facts = row.model_dump(mode="json", exclude={"run_id", "id", "created_at"})
                    print_json(
                        {"competition": run.row.competition, "number": row.id, **facts, "ideas": _ideas_of(run, row)}
                    )
            elif report is not None:
                typer.echo("\n".join(_in_full(run, rows[0])))
            else:
                _print_reports(run)
    if not runs and not json:
        typer.echo("no run yet, so there are no reports")


@contextmanager
def _runs(config: Path | None, competition: str | None) -> "Iterator[tuple[Store, list[RunRecord]]]":
    """Yield the daemon's database and the record of each competition's live run, or of one."""
    with daemon_to_read(config) as store, store.read() as session:
        rows = runs_of(store, competition)
        yield store, [RunRecord(session, rows[slug], daemon_now(store)) for slug in sorted(rows)]


def _idea_as_json(run: RunRecord, evidence: IdeaEvidence, sources: Mapping[str, Source]) -> dict[str, Any]:
    return {
        "competition": run.row.competition,
        "number": evidence.idea.id,
        **evidence.idea.model_dump(mode="json", exclude={"run_id", "id", "created_at"}),
        "support": evidence.support,
        "basis": evidence.basis_in_words,
        "times_used": evidence.times_used,
        "gains": evidence.gains,
        "error": evidence.error,
        "sources": [as_json(sources[item]) for item in evidence.sources],
    }


def _ideas_of(run: RunRecord, row: Report) -> Sequence[int]:
    return next((draft.idea_ids for draft in run.drafts if draft.id == row.draft_id), [])


def _print_pool(slug: str, pool: Sequence[IdeaEvidence], sources: Mapping[str, Source]) -> None:
    if not pool:
        typer.echo(f"{slug}: no ideas yet")
        return
    rows = []
    for evidence in pool:
        idea, text = evidence.idea, _plain(evidence.idea.text)
        if not evidence.live:
            successors = f" into {', '.join(map(str, idea.successors))}" if idea.successors else ""
            reason = f": {_plain(idea.reason)}" if idea.reason else ""
            text = f"{idea.state}{successors}{reason}\n{text}"
        gains = ", ".join(f"{gain:+.3g}" for gain in evidence.gains) or "–"
        gains += "" if evidence.error is None else f" ± {evidence.error:.2g}"
        origins = "\n".join(_sources([sources[item] for item in evidence.sources]))
        rows.append((str(idea.id), text, f"{evidence.support:.1f}", str(evidence.times_used), gains, origins))
    columns = ("no.", "idea", "support", "used", "gain", "from")
    print_table(columns, rows, title=f"{slug}: ideas", width=_WIDTH)


def _sources(sources: Sequence[Source]) -> Iterator[str]:
    for source in sources[:_SHOWN_SOURCES]:
        author = f" by {_plain(source.author)}" if source.author else ""
        yield f"{source.item}: {_plain(source.title)}{author}" if source.title is not None else source.item
    if len(sources) > _SHOWN_SOURCES:
        yield f"and {len(sources) - _SHOWN_SOURCES} more"


def _find_report(run: RunRecord, id: str) -> Report:
    row = next((row for row in run.reports if row.id == id), None)
    if row is None:
        known_reports = f"known: {', '.join(row.id for row in run.reports)}" if run.reports else "none yet"
        raise UsageError(f"unknown report {id} on {run.row.competition}: {known_reports}")
    return row


def _print_reports(run: RunRecord) -> None:
    slug = run.row.competition
    if not run.reports:
        typer.echo(f"{slug}: no reports yet")
        return
    rows = [
        (
            row.id,
            _plain(row.title),
            number(row.score),
            "–" if row.best_node is None else str(row.best_node),
            ", ".join(map(str, _ideas_of(run, row))) or "–",
            _plain(row.next_steps),
        )
        for row in run.reports
    ]
    columns = ("no.", "title", "score", "node", "ideas", "next steps")
    print_table(columns, rows, title=f"{slug}: reports", width=_WIDTH)


def _in_full(run: RunRecord, row: Report) -> Iterator[str]:
    yield f"{run.row.competition}, report {row.id}: {_plain(row.title)}"
    node = None if row.best_node is None else run.nodes.get(row.best_node)
    without_draft = _WITHOUT_DRAFT.get("" if node is None else node.action, "no draft")
    draft = without_draft if row.draft_id is None else f"draft {row.draft_id}"
    ideas = ", ".join(map(str, _ideas_of(run, row)))
    best = "–" if row.best_node is None else row.best_node
    yield f"score {number(row.score)} (node {best}); {draft}{f' from ideas {ideas}' if ideas else ''}"
    parts = {"method": row.method, "numbers": row.numbers, "limitations": row.limitations, "next steps": row.next_steps}
    for name, text in parts.items():
        if text:
            yield from ("", f"{name}:", *_paragraphs(text))
    if row.components:
        yield from ("", "components:")
        for part in row.components:
            # A model may have written it in any form.
            if isinstance(part, Mapping) and part.get("name"):
                part = f"{part['name']}: {part.get('analysis') or 'no analysis'}"
            yield from _paragraphs(f"- {part}")


def _paragraphs(text: str) -> Iterator[str]:
    for line in clean(text).splitlines():
        yield from textwrap.wrap(line, _WIDTH, initial_indent="  ", subsequent_indent="  ") or [""]


def _plain(text: str) -> str:
    # Untrusted text must not control the terminal.
    return " ".join(clean(text).split())
