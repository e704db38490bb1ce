"""`bot probe`: what Kaggle really answers, held against what the bot assumes of it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configured import configured
from bot.cli.options import Competition as CompetitionArgument
from bot.cli.options import Config, Json
from bot.cli.output import print_json, print_table, progress_line
from bot.live.kinds import Kind, in_words
from bot.simulator.probe.asking import ask_all
from bot.simulator.probe.exchange import Exchange, read_exchanges, write_exchanges
from bot.simulator.probe.judging import Judged, judge
from bot.simulator.probe.masking import Masking
from bot.simulator.probe.points import NotAnswered, Seen, Verdict
from scrapers.kaggle.competitions import Competition, DataSummary, Pages
from scrapers.kaggle.credentials import find_credentials
from scrapers.kaggle.kinds import kinds_of
from scrapers.kaggle.search import SearchPage, facts_on
from scrapers.kaggle.settings import KaggleSection
from state.clock import SystemClock
from state.errors import UsageError

_ORDER: tuple[Verdict, ...] = ("different", "OK", "could not tell")


def probe(
    competition: CompetitionArgument,
    out: Annotated[
        Path | None, typer.Option(help="folder for the answers, masked; default: probe-COMPETITION", show_default=False)
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Ask Kaggle at most 18 questions that change nothing, and show which of the bot's assumptions hold, and the kind.

    The answers are kept in a folder without keys, and with the names, texts and numbers of people masked: tests read such
    folders. A folder that has answers is judged again, and nothing is asked. Exits with 1 if Kaggle differs from an assumption.

    Example: bot probe spooky-author-identification
    """
    folder, section = out or Path(f"probe-{competition}"), configured(config).kaggle
    exchanges = read_exchanges(folder)
    kinds: list[Kind] = []
    if not exchanges:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not empty: remove it, or name another folder with --out")
        exchanges = _asked(section, competition, folder)
        # Of what is kept, the pages' words are masked.
        kinds = _kinds(exchanges)
    judged = judge(exchanges)
    if json:
        answer = _as_json(section.url, competition, exchanges, judged, folder)
        print_json(
            answer | {"kinds": [{"kind": one.name, "about": str(one), "worked_on": one.worked_on} for one in kinds]}
        )
    else:
        _show(judged, exchanges, folder)
        for kind in kinds:
            typer.echo(f"{competition} {kind}")
    if any(one.finding.verdict == "different" for one in judged):
        raise typer.Exit(1)


def _asked(section: KaggleSection, competition: str, folder: Path) -> tuple[Exchange, ...]:
    """Put the questions, keep the answers in the folder, and return them as they came."""
    key = find_credentials()
    with progress_line() as say:
        exchanges = asyncio.run(ask_all(section, competition, SystemClock(), key, say))
    write_exchanges(folder, Masking(competition, key.hide).masked(exchanges))
    return exchanges


def _kinds(exchanges: Sequence[Exchange]) -> list[Kind]:
    """Return the kinds of the competition, as far as what was answered shows them."""
    seen = Seen(exchanges)
    try:
        competition, pages = seen.read("competition", Competition), seen.read("pages", Pages).pages
    except NotAnswered:
        return []
    facts, size = None, 0
    for name in ("search-without-key", "search-competition"):
        with suppress(NotAnswered):
            facts = facts_on(seen.read(name, SearchPage), competition.slug) or facts
    with suppress(NotAnswered):
        size = sum(one.total_size for one in seen.read("data-summary", DataSummary).types)
    return [in_words(one, None) for one in kinds_of(competition, facts, pages, size)]


def _show(judged: Sequence[Judged], exchanges: Sequence[Exchange], folder: Path) -> None:
    ordered = sorted(judged, key=lambda one: _ORDER.index(one.finding.verdict))
    rows = [(one.finding.verdict, one.point.assumed, _saw(one)) for one in ordered]
    print_table(("", "the bot assumes", "what was seen"), rows)
    counts = Counter(one.finding.verdict for one in judged)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER)
    typer.echo(f"{total}; {len(exchanges)} requests. The answers, masked: {folder}")


def _saw(one: Judged) -> str:
    settled = f" (settled by: {one.point.settled_by})" if one.finding.verdict == "could not tell" else ""
    return f"{one.finding.saw}{settled}"


def _as_json(
    url: str, competition: str, exchanges: Sequence[Exchange], judged: Sequence[Judged], folder: Path
) -> dict[str, Any]:
    points = [
        {
            **{"point": one.point.name, "assumed": one.point.assumed, "verdict": one.finding.verdict},
            **{"saw": one.finding.saw, "settled_by": one.point.settled_by},
        }
        for one in judged
    ]
    return {
        **{"site": url, "competition": competition, "requests": len(exchanges)},
        **{"points": points, "folder": str(folder)},
    }
