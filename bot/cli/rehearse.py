"""`bot rehearse`: a stand-in Kaggle site that plays a snapshot back on a fast clock."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from bot.cli.output import number, print_json, print_table
from bot.evaluation.directions import METRIC_DIRECTIONS
from scrapers.fields import parse_time
from scrapers.snapshot import Snapshot
from state.clock import FastClock
from state.errors import UsageError

if TYPE_CHECKING:
    from bot.rehearsal.faults import Faults
    from bot.rehearsal.site import Site

_AFTERWARDS = timedelta(hours=1)
"""Of the site's clock: for how long a site goes on after the deadline, so that clients see the end."""
_LOOK = 0.25
_LINE = 10.0
"""Seconds between two progress lines where there is no terminal."""


def rehearse(
    snapshot: Annotated[Path, typer.Argument(help="the snapshot's folder")],
    speed: Annotated[float, typer.Option(min=0.001, help="how many times faster the site's clock runs")] = 2000.0,
    port: Annotated[int, typer.Option(min=0, max=65535, help="where it listens on loopback; 0 is a free one")] = 8899,
    start: Annotated[
        str | None,
        typer.Option(help="the site's time at the beginning (ISO, UTC); default: the competition's beginning"),
    ] = None,
    token: Annotated[str | None, typer.Option(help="the API token that it takes")] = None,
    seed: Annotated[int, typer.Option(help="of all that is drawn: teams' arrival, the public part, delays")] = 0,
    faults: Annotated[Path | None, typer.Option(help="a file of faults to inject (TOML)")] = None,
    faults_seed: Annotated[int | None, typer.Option(help="inject faults at random by this seed")] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="end when the competition has, and print the final standing")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="print one JSON object a line: the address, then the result")
    ] = False,
) -> None:
    """Play a snapshot back as a live competition, for a daemon or the unmodified `kaggle` command to compete on.

    It ends with Ctrl-C; a page at its address shows what it is doing. With --until-end it exits with 1 if there is no
    scored submission.

    Example: bot rehearse snapshots/spooky-author-identification --speed 2000 --until-end
    """
    loaded = Snapshot.load(snapshot, METRIC_DIRECTIONS)
    begins = _begins(start, loaded)
    # Imported here, so that other commands do not pay for a web server.
    from bot.rehearsal.serving import serving
    from bot.rehearsal.settings import SiteSettings
    from bot.rehearsal.site import Site

    settings = SiteSettings(seed=seed, **({} if token is None else {"token": token}))
    trouble = _faults(faults, faults_seed)
    clock = FastClock(begins, speed)
    site = Site(loaded, clock, settings, trouble)
    with _stopping() as stop, serving(site, port) as url:
        site.desk.warm()
        _announce(site, clock, url, json=json)
        _watch(site, clock, stop, site.card.deadline + _AFTERWARDS if until_end else None)
        if not stop.is_set():
            site.desk.settle()
        result = _result(site)
    _tell(result, json=json)
    if until_end and result["over"] and not result["scored"]:
        raise typer.Exit(1)


def _begins(start: str | None, snapshot: Snapshot) -> datetime:
    card = snapshot.card
    if start is None:
        return card.enabled_at
    try:
        begins = parse_time(start)
    except ValueError as error:
        raise UsageError(f"--start: {error}") from error
    if not card.enabled_at <= begins < card.deadline:
        raise UsageError(
            f"--start lies outside of the competition, {card.enabled_at:%Y-%m-%d} to {card.deadline:%Y-%m-%d}"
        )
    return begins


def _faults(file: Path | None, seed: int | None) -> "Faults":
    from bot.rehearsal.faults import FaultMix, Faults

    if file is not None and seed is not None:
        raise UsageError("pass --faults or --faults-seed, not both; a file has a seed of its own under [mix]")
    if file is not None:
        return Faults.read(file)
    return Faults(mix=None if seed is None else FaultMix(seed=seed))


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set; the old handlers are put back afterwards."""
    stop = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(one, lambda *_: stop.set()) for one in signals]
    try:
        yield stop
    finally:
        for one, handler in zip(signals, before, strict=True):
            signal.signal(one, handler)


def environment(url: str, token: str) -> dict[str, str]:
    """Return the variables by which the unmodified `kaggle` command reaches a site, beside a HOME of its own."""
    return {
        "KAGGLE_API_ENVIRONMENT": "LOCALHOST",
        "http_proxy": url,
        "NO_PROXY": "",
        "no_proxy": "",
        "KAGGLE_API_TOKEN": token,
    }


def _announce(site: "Site", clock: FastClock, url: str, *, json: bool) -> None:
    settings, variables = site.settings, environment(url, site.settings.token)
    if json:
        times = {"start": clock.start.isoformat(), "speed": clock.speed, "began": clock.began}
        facts = {"competition": site.card.slug, "url": url, "token": settings.token, "clock": times}
        print_json(
            facts | {"user_name": settings.user_name, "legacy_key": settings.legacy_key, "environment": variables}
        )
        return
    exports = " ".join(f"{name}={value}" for name, value in variables.items())
    typer.echo(
        f"{site.card.slug} is on at {url} (a page for people is there too)\n"
        f"token: {settings.token} (legacy: {settings.user_name} with the key {settings.legacy_key})\n"
        f"clock: {clock.start:%Y-%m-%d %H:%M} UTC at {clock.began:.3f}, {clock.speed:g} times faster\n"
        f"for the unmodified kaggle command, in a shell of its own:\n"
        f'  export HOME="$(mktemp -d)"; export KAGGLE_CONFIG_DIR="$HOME/cfg" {exports}\n'
        f"  kaggle competitions list --group entered"
    )


def _watch(site: "Site", clock: FastClock, stop: threading.Event, end: datetime | None) -> None:
    """Show the progress line until somebody stops it, or the end has come."""
    console = Console(stderr=True)
    if console.is_terminal:
        with Live(console=console, transient=True, refresh_per_second=4) as live:
            while not stop.is_set() and (end is None or clock.now() < end):
                live.update(Text(_progress(site, clock), overflow="ellipsis", no_wrap=True))
                stop.wait(_LOOK)
        return
    shown = -_LINE
    while not stop.is_set() and (end is None or clock.now() < end):
        if time.monotonic() - shown >= _LINE:
            shown = time.monotonic()
            console.print(_progress(site, clock), markup=False, highlight=False, soft_wrap=True)
        stop.wait(_LOOK)


def _progress(site: "Site", clock: FastClock) -> str:
    now = clock.now()
    taken = site.desk.all(now)
    scores = [one.public_score for one in site.desk.best_public(now)]
    best = f", best {scores[0]:g}" if scores and scores[0] is not None else ""
    seconds = max(0.0, (site.deadline(now) - now).total_seconds() / clock.speed)
    left = "over" if site.over(now) else f"{seconds:.0f} s left"
    return (
        f"{now:%Y-%m-%d %H:%M} UTC | {sum(site.requests.values())} requests | "
        f"{len(taken)} submissions{best} | {len(site.faults.injected)} faults | {left}"
    )


def _result(site: "Site") -> dict[str, Any]:
    from bot.rehearsal.standing import standing_of

    return standing_of(site, site.clock.now())


def _tell(result: dict[str, Any], *, json: bool) -> None:
    if json:
        print_json(result)
        return
    rows = [
        ("submissions", f"{result['submissions']} ({result['scored']} scored, {result['failed']} failed)"),
        ("best public score", number(result["public_score"], 6)),
        ("public rank", f"{result['public_rank'] or '–'} of {result['teams']}"),
        ("private score", number(result["private_score"], 6)),
        ("final rank", f"{result['rank'] or '–'} of {result['final_teams']}"),
        ("medal", result["medal"] or "none"),
        ("requests", f"{result['requests']} ({result['faults']} faults injected)"),
    ]
    print_table(("", result["competition"]), rows, title="final standing" if result["over"] else "standing so far")
