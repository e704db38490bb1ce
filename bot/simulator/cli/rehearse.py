"""`bot rehearse`: a stand-in Kaggle site that plays snapshots back on a fast clock."""

import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.options import existing
from bot.cli.output import number, print_json, print_table, progress_line
from bot.simulator.site.settings import CompetitionKind
from sandbox import BackEndChoice
from state.clock import FastClock
from state.errors import UsageError

if TYPE_CHECKING:
    from bot.simulator.site.competition import SimulatedCompetition
    from bot.simulator.site.site import Site
    from sandbox import Sandbox
    from scrapers.snapshots.snapshot import Snapshot

_AFTERWARDS = timedelta(hours=1)
"""By the site's clock: how long a site goes on after the last deadline, so that clients see the end."""
_CHECK_SECONDS = 0.25
_LINE = 60.0
"""Seconds between two progress lines if there is no terminal."""


def rehearse(
    snapshots: Annotated[list[Path], typer.Argument(metavar="SNAPSHOT...", help="snapshot folders")],
    speed: Annotated[float, typer.Option(min=0.001, help="clock speed relative to real time")] = 2000.0,
    port: Annotated[int, typer.Option(min=0, max=65535, help="port on 127.0.0.1 (0 selects a free port)")] = 8899,
    start: Annotated[
        str | None,
        typer.Option(help="simulated start time in ISO 8601 (default: the first competition's start)"),
    ] = None,
    as_dated: Annotated[bool, typer.Option("--as-dated", help="keep the original dates, even if years apart")] = False,
    token: Annotated[str | None, typer.Option(help="API token to accept")] = None,
    kind: Annotated[CompetitionKind, typer.Option(help="kind of competition to simulate")] = "files",
    public_test: Annotated[
        float, typer.Option(min=0.001, max=1, help="share of test rows visible to notebooks (with --kind notebooks)")
    ] = 0.1,
    run_seconds: Annotated[float, typer.Option(min=1, help="wall-clock limit for a notebook, in seconds")] = 32_400.0,
    sandbox: Annotated[
        BackEndChoice, typer.Option(help="sandbox for notebooks; `process` provides no isolation")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="random seed for the teams, the public split and the delays")] = 0,
    faults: Annotated[Path | None, typer.Option(help="TOML file with faults to inject")] = None,
    until_end: Annotated[
        bool, typer.Option("--until-end", help="stop after the last deadline and print the standings")
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="print JSON lines: the address, then one result per competition")
    ] = False,
) -> None:
    """Simulate Kaggle: serve snapshots as live competitions to `bot run` or the `kaggle` command.

    All share one address, account and clock, and start when the earliest does. With --kind notebooks, notebooks really
    run, and submitted ones run again on all test rows. With --until-end, exits with 1 if a competition has no scored
    submission. Press Ctrl-C to stop.

    Example: bot rehearse snapshots/spooky-author-identification --speed 2000 --until-end
    """
    existing(snapshots, quiet=json)
    # Imported here: the help, and a wrong path, need none of it.
    from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
    from bot.simulator.site.faults import Faults
    from bot.simulator.site.results import result_of
    from bot.simulator.site.serving import serving
    from bot.simulator.site.settings import SiteSettings
    from bot.simulator.site.site import Site
    from bot.simulator.site.time_shift import align_starts
    from scrapers.snapshots.snapshot import Snapshot

    snapshot_list = [Snapshot.load(snapshot, METRIC_DIRECTIONS) for snapshot in snapshots]
    snapshot_list = snapshot_list if as_dated else align_starts(snapshot_list)
    begins = _begins(start, snapshot_list)
    settings = SiteSettings(
        seed=seed,
        kind=kind,
        public_test=public_test,
        run_seconds=run_seconds,
        **({} if token is None else {"token": token}),
    )
    injected = Faults() if faults is None else Faults.read(faults)
    clock = FastClock(begins, speed)
    takes_notebooks = kind == "notebooks" or any(s.card.kind == "code" for s in snapshot_list)
    site = Site(snapshot_list, clock, settings, injected, _choose_sandbox(sandbox) if takes_notebooks else None)
    with _stopping() as stop, serving(site, port) as url:
        site.warm()
        announce(site, clock, url, json=json)
        _watch(site, clock, stop, site.last_deadline + _AFTERWARDS if until_end else None)
        if not stop.is_set():
            site.settle()
        now = clock.now()
        results = [result_of(site, competition, now) for competition in site.competitions]
    show_results(results, json=json)
    if until_end and any(result["over"] and not result["scored"] for result in results):
        raise typer.Exit(1)


def _choose_sandbox(name: BackEndChoice) -> "Sandbox":
    """Return the sandbox that notebooks run in, with the packages that the bot's own scripts find by default."""
    from sandbox.choose import choose
    from sandbox.environments import chosen_environment
    from sandbox.settings import SandboxSettings

    environment = chosen_environment(SandboxSettings().environments_folder, None)
    return choose(name, trusted=False, instance="rehearsal", environment=environment)


def _begins(start: str | None, snapshots: "Sequence[Snapshot]") -> datetime:
    from scrapers.snapshots.fields import parse_time

    first, last = min(s.card.enabled_at for s in snapshots), max(s.card.deadline for s in snapshots)
    if start is None:
        return first
    try:
        begins = parse_time(start)
    except ValueError as error:
        raise UsageError(f"--start: {error}") from error
    if not first <= begins < last:
        noun = "competition" if len(snapshots) == 1 else "competitions"
        raise UsageError(f"--start must be within the dates of the {noun}: {first:%Y-%m-%d} to {last:%Y-%m-%d}")
    return begins


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C and SIGTERM set; the old handlers are restored afterwards."""
    stop = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda *_: stop.set()) for number in signals]
    try:
        yield stop
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _watch(site: "Site", clock: FastClock, stop: threading.Event, end: datetime | None) -> None:
    with progress_line(_LINE) as say:
        while not stop.is_set() and (end is None or clock.now() < end):
            say(progress(site, clock), (clock.now() - clock.start) / (site.last_deadline - clock.start))
            stop.wait(_CHECK_SECONDS)


def announcement(site: "Site", clock: FastClock, url: str) -> dict[str, Any]:
    """Return all that a program needs to compete on a site; `competition` is set if there is only one.

    By the variables in `environment` the unmodified `kaggle` command reaches the site, beside a HOME of its own.
    """
    settings = site.settings
    variables = {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", "http_proxy": url, "NO_PROXY": "", "no_proxy": ""}
    times = {"start": clock.start.isoformat(), "speed": clock.speed, "began": clock.began}
    own_slug = {"competition": site.competitions[0].slug} if len(site.competitions) == 1 else {}
    return own_slug | {
        "competitions": [
            {
                "competition": competition.slug,
                "begins": competition.card.enabled_at.isoformat(),
                "deadline": competition.card.deadline.isoformat(),
                "shift_seconds": competition.snapshot.shift.total_seconds(),
            }
            for competition in site.competitions
        ],
        "url": url,
        "token": settings.token,
        "clock": times,
        "user_name": settings.user_name,
        "legacy_key": settings.legacy_key,
        "environment": variables | {"KAGGLE_API_TOKEN": settings.token},
    }


def announce(site: "Site", clock: FastClock, url: str, *, json: bool) -> None:
    """Print where a site is, what it plays back, and how to reach it."""
    facts = announcement(site, clock, url)
    if json:
        print_json(facts)
        return
    settings, has_several = site.settings, len(site.competitions) > 1
    exports = " ".join(f"{name}={value}" for name, value in facts["environment"].items())
    subject = f"{len(site.competitions)} competitions" if has_several else site.competitions[0].slug
    lines = "".join(f"  {_line(c)}\n" for c in site.competitions) if has_several else ""
    typer.echo(
        f"simulated Kaggle with {subject}: {url} (open it in a browser)\n{lines}"
        f"clock: {clock.start:%Y-%m-%d %H:%M} UTC, {clock.speed:g} times as fast as real time; press Ctrl-C to stop\n"
        f"To let the bot compete, in another shell:\n"
        f"  export KAGGLE_API_TOKEN={settings.token}; bot init --url {url}/v1 && bot run\n"
        f"To use the kaggle command, in a new shell (older versions: user {settings.user_name}, key {settings.legacy_key}):\n"
        f'  export HOME="$(mktemp -d)"; export KAGGLE_CONFIG_DIR="$HOME/cfg" {exports}\n'
        f"  kaggle competitions list --group entered"
    )


def progress(site: "Site", clock: FastClock) -> str:
    """Return the progress on one line."""
    now = clock.now()
    parts = " | ".join(_progress_of(c, clock, now) for c in site.competitions)
    return f"{now:%Y-%m-%d %H:%M} UTC | {sum(site.requests.values())} requests | {len(site.faults.injected)} faults | {parts}"


def show_results(results: Sequence[Mapping[str, Any]], *, json: bool) -> None:
    """Print each competition's result: a line of JSON, or a table."""
    for result in results:
        if json:
            print_json(result)
            continue
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


def _line(competition: "SimulatedCompetition") -> str:
    shift = competition.snapshot.shift
    span = f"{competition.card.enabled_at:%Y-%m-%d %H:%M} to {competition.card.deadline:%Y-%m-%d %H:%M}"
    return f"{competition.slug}: {span}{f', shifted by {shift / timedelta(days=1):+,.6g} days' if shift else ''}"


def _progress_of(competition: "SimulatedCompetition", clock: FastClock, now: datetime) -> str:
    count = len(competition.desk.all(now))
    scores = [s.public_score for s in competition.desk.best_public(now)]
    best = f", best {scores[0]:g}" if scores and scores[0] is not None else ""
    seconds = max(0.0, (competition.deadline(now) - now).total_seconds() / clock.speed)
    return f"{competition.slug}: {count} submissions{best}, {'ended' if competition.over(now) else f'{seconds:.0f} s left'}"
