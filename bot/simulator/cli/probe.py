"""`bot probe`: what Kaggle really answers, held against what the bot assumes of it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configuration import configured
from bot.cli.options import Competition as CompetitionArgument
from bot.cli.options import Config, Json
from bot.cli.output import print_json, print_table, progress_line
from bot.live.kinds import CompetitionKind, in_words
from bot.simulator.probe.checks import judge
from bot.simulator.probe.exchange import ProbeExchange, read_exchanges, write_exchanges
from bot.simulator.probe.masking import Masking
from bot.simulator.probe.points import NotAnswered, Point, ProbeAnswers, ProbeFinding, Verdict
from bot.simulator.probe.probe_requests import ask_all
from scrapers.kaggle.competitions import DataSummary, KaggleCompetition, Pages
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
        Path | None, typer.Option(help="folder for the masked answers (default: probe-COMPETITION)", show_default=False)
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Send Kaggle at most 18 read-only requests to check the bot's assumptions.

    Stores the answers without keys, with people's names, texts and numbers masked. If the folder already has answers,
    checks those and sends no requests. Exits with 1 if an assumption is wrong.

    Example: bot probe spooky-author-identification
    """
    folder, section = out or Path(f"probe-{competition}"), configured(config).kaggle
    exchanges = read_exchanges(folder)
    kinds: list[CompetitionKind] = []
    if not exchanges:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not empty: remove it or choose another folder with --out")
        exchanges = _ask_site(section, competition, folder)
        # Of what is kept, the pages' words are masked.
        kinds = _kinds(exchanges)
    results = judge(exchanges)
    if json:
        points = [
            {
                "point": point.name,
                "assumed": point.assumed,
                "verdict": finding.verdict,
                "saw": finding.observation,
                "settled_by": point.settled_by,
            }
            for point, finding in results
        ]
        facts = {"site": section.url, "competition": competition, "requests": len(exchanges), "folder": str(folder)}
        about = [{"kind": kind.name, "about": str(kind), "worked_on": kind.worked_on} for kind in kinds]
        print_json({**facts, "points": points, "kinds": about})
    else:
        _show(results, exchanges, folder)
        for kind in kinds:
            typer.echo(f"{competition} {kind}")
    if any(finding.verdict == "different" for _, finding in results):
        raise typer.Exit(1)


def _ask_site(section: KaggleSection, competition: str, folder: Path) -> tuple[ProbeExchange, ...]:
    key = find_credentials()
    with progress_line() as say:
        exchanges = asyncio.run(ask_all(section, competition, SystemClock(), key, say))
    write_exchanges(folder, Masking(competition, key.hide).masked(exchanges))
    return exchanges


def _kinds(exchanges: Sequence[ProbeExchange]) -> list[CompetitionKind]:
    """Return the kinds of the competition, as far as what was answered shows them."""
    answers = ProbeAnswers(exchanges)
    try:
        competition, pages = answers.read("competition", KaggleCompetition), answers.read("pages", Pages).pages
    except NotAnswered:
        return []
    facts, size = None, 0
    for name in ("search-without-key", "search-competition"):
        with suppress(NotAnswered):
            facts = facts_on(answers.read(name, SearchPage), competition.slug) or facts
    with suppress(NotAnswered):
        size = sum(t.total_size for t in answers.read("data-summary", DataSummary).types)
    return [in_words(kind, None) for kind in kinds_of(competition, facts, pages, size)]


def _show(results: Sequence[tuple[Point, ProbeFinding]], exchanges: Sequence[ProbeExchange], folder: Path) -> None:
    rows = []
    for point, finding in sorted(results, key=lambda result: _ORDER.index(result[1].verdict)):
        how_to_settle = f" (settled by: {point.settled_by})" if finding.verdict == "could not tell" else ""
        rows.append((finding.verdict, point.assumed, f"{finding.observation}{how_to_settle}"))
    print_table(("", "the bot assumes", "Kaggle's answers"), rows)
    counts = Counter(finding.verdict for _, finding in results)
    total = ", ".join(f"{counts[verdict]} {verdict}" for verdict in _ORDER)
    typer.echo(f"{total}; {len(exchanges)} requests. Masked answers: {folder}")
