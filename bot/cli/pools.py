"""`bot ideas` and `bot reports`: what the daemon has learned, from its database, while it runs."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from bot.cli.daemon_reading import as_json, daemon_now, daemon_to_read, runs_of
from bot.cli.options import Config, OneCompetition
from bot.cli.output import number, print_json, print_table
from bot.models.quoting import clean
from bot.status.knowledge import IdeaShown, ReportShown, Source, ideas_of, reports_shown
from state.errors import UsageError

_WIDTH = 100
_SHOWN_SOURCES = 4
_WITHOUT_DRAFT = {"draft": "the safe baseline", "reproduce": "a kernel that was reproduced"}
"""Subject of a report without a draft, by its node's action."""


def ideas(
    competition: OneCompetition = None,
    config: Config = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object per idea")] = False,
) -> None:
    """Show the pool of ideas, best supported first: the evidence for each, whether it was tried, and its sources.

    Support goes from 0 to 10, and is 5 where nothing is known. What was measured of an idea goes before what was measured of
    its sources, and this before what posts claim. Merged, split and retired ideas come last, with the reason.

    Example: bot ideas spooky-author-identification
    """
    with daemon_to_read(config) as store:
        now = daemon_now(store)
        pools = {slug: ideas_of(store, run, now) for slug, run in sorted(runs_of(store, competition).items())}
    if json:
        _print_as_json(pools)
        return
    for slug, pool in pools.items():
        _print_pool(slug, pool)
    if not pools:
        typer.echo("there is no run yet, so there are no ideas")


def reports(
    competition: OneCompetition = None,
    report: Annotated[
        str | None,
        typer.Argument(metavar="[NUMBER]", help="number of a report to show in full", show_default=False),
    ] = None,
    config: Config = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object per report")] = False,
) -> None:
    """Show the reports on what was tried, or one of them in full.

    Example: bot reports spooky-author-identification 3
    """
    with daemon_to_read(config) as store:
        now = daemon_now(store)
        found = {slug: reports_shown(store, run, now) for slug, run in sorted(runs_of(store, competition).items())}
    if report is not None:
        found = {slug: [_one(slug, pool, report)] for slug, pool in found.items()}
    if json:
        _print_as_json(found)
        return
    for slug, pool in found.items():
        if report is not None:
            typer.echo("\n".join(_in_full(pool[0])))
        else:
            _print_reports(slug, pool)
    if not found:
        typer.echo("there is no run yet, so there are no reports")


def _print_as_json(found: Mapping[str, Sequence[Any]]) -> None:
    for pool in found.values():
        for one in pool:
            print_json(as_json(one))


def _print_pool(slug: str, pool: Sequence[IdeaShown]) -> None:
    if not pool:
        typer.echo(f"{slug}: there are no ideas yet")
        return
    rows = [
        (
            str(one.number),
            _plain(one.text) if one.state == "live" else f"{_closed(one)}\n{_plain(one.text)}",
            f"{one.support:.1f}",
            str(one.times_used),
            _gains(one),
            "\n".join(_sources(one.sources)),
        )
        for one in pool
    ]
    columns = ("no.", "idea", "support", "used", "gain", "from")
    print_table(columns, rows, title=f"{slug}: ideas", width=_WIDTH)


def _gains(one: IdeaShown) -> str:
    shown = ", ".join(f"{gain:+.3g}" for gain in one.gains) or "–"
    return shown if one.error is None else f"{shown} ± {one.error:.2g}"


def _closed(one: IdeaShown) -> str:
    into = f" into {', '.join(map(str, one.successors))}" if one.successors else ""
    return _plain(f"{one.state}{into}: {one.reason}" if one.reason else f"{one.state}{into}")


def _sources(sources: Sequence[Source]) -> Iterator[str]:
    for one in sources[:_SHOWN_SOURCES]:
        author = f" by {_plain(one.author)}" if one.author else ""
        yield f"{one.item}: {_plain(one.title)}{author}" if one.title is not None else one.item
    if len(sources) > _SHOWN_SOURCES:
        yield f"and {len(sources) - _SHOWN_SOURCES} more"


def _one(slug: str, pool: Sequence[ReportShown], wanted: str) -> ReportShown:
    found = next((one for one in pool if one.number == wanted), None)
    if found is None:
        known = f"there are {', '.join(one.number for one in pool)}" if pool else "there are none yet"
        raise UsageError(f"there is no report {wanted} on {slug}: {known}")
    return found


def _print_reports(slug: str, pool: Sequence[ReportShown]) -> None:
    if not pool:
        typer.echo(f"{slug}: there are no reports yet")
        return
    rows = [
        (
            one.number,
            _plain(one.title),
            number(one.score),
            "–" if one.node is None else str(one.node),
            ", ".join(map(str, one.ideas)) or "–",
            _plain(one.next_steps),
        )
        for one in pool
    ]
    columns = ("no.", "title", "score", "node", "ideas", "next steps")
    print_table(columns, rows, title=f"{slug}: reports", width=_WIDTH)


def _in_full(one: ReportShown) -> Iterator[str]:
    yield f"{one.competition}, report {one.number}: {_plain(one.title)}"
    made = f"draft {one.draft}" if one.draft is not None else _WITHOUT_DRAFT.get(one.action or "", "no draft")
    used = f" of ideas {', '.join(map(str, one.ideas))}" if one.ideas else ""
    yield f"score {number(one.score)} of node {one.node if one.node is not None else '–'}; {made}{used}"
    parts = {"method": one.method, "numbers": one.numbers, "limitations": one.limitations, "next steps": one.next_steps}
    for name, text in parts.items():
        if text:
            yield from ("", f"{name}:", *_paragraphs(text))
    if one.components:
        yield from (
            "",
            "components:",
            *(line for part in one.components for line in _paragraphs(f"- {_component(part)}")),
        )


def _component(part: Any) -> str:
    """Return a report's component as a line; a model may have written it in any form."""
    if isinstance(part, Mapping) and part.get("name"):
        return f"{part['name']}: {part.get('analysis') or 'no analysis'}"
    return str(part)


def _paragraphs(text: str) -> Iterator[str]:
    for line in clean(text).splitlines():
        yield from textwrap.wrap(line, _WIDTH, initial_indent="  ", subsequent_indent="  ") or [""]


def _plain(text: str) -> str:
    # Foreign text, or a model's, must not control the terminal.
    return " ".join(clean(text).split())
