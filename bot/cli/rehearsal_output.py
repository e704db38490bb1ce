"""What `bot rehearse` prints: the site's address, its progress, and each competition's result."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from bot.cli.output import number, print_json, print_table
from bot.rehearsal.time_shift import shift_in_words
from state.clock import FastClock

if TYPE_CHECKING:
    from bot.rehearsal.competition import Competition
    from bot.rehearsal.site import Site


def announcement(site: "Site", clock: FastClock, url: str) -> dict[str, Any]:
    """Return all that a program needs to compete on a site; `competition` is set if there is only one.

    By the variables in `environment` the unmodified `kaggle` command reaches the site, beside a HOME of its own.
    """
    settings = site.settings
    variables = {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", "http_proxy": url, "NO_PROXY": "", "no_proxy": ""}
    times = {"start": clock.start.isoformat(), "speed": clock.speed, "began": clock.began}
    alone = {"competition": site.competitions[0].slug} if len(site.competitions) == 1 else {}
    return alone | {
        "competitions": [_played(one) for one in site.competitions],
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
    settings, several = site.settings, len(site.competitions) > 1
    exports = " ".join(f"{name}={value}" for name, value in facts["environment"].items())
    what = f"{len(site.competitions)} competitions are" if several else f"{site.competitions[0].slug} is"
    listed = "".join(f"  {_line(one)}\n" for one in site.competitions) if several else ""
    typer.echo(
        f"{what} on at {url} (open it in a browser to look on)\n{listed}"
        f"token: {settings.token} (legacy: {settings.user_name} with the key {settings.legacy_key})\n"
        f"clock: {clock.start:%Y-%m-%d %H:%M} UTC at {clock.began:.3f}, {clock.speed:g} times faster\n"
        f"for the unmodified kaggle command, in a shell of its own:\n"
        f'  export HOME="$(mktemp -d)"; export KAGGLE_CONFIG_DIR="$HOME/cfg" {exports}\n'
        f"  kaggle competitions list --group entered"
    )


def progress(site: "Site", clock: FastClock) -> str:
    """Return the progress on one line."""
    now = clock.now()
    parts = " | ".join(_progress_of(one, clock, now) for one in site.competitions)
    return f"{now:%Y-%m-%d %H:%M} UTC | {sum(site.requests.values())} requests | {len(site.faults.injected)} faults | {parts}"


def show_results(results: Sequence[Mapping[str, Any]], *, json: bool) -> None:
    """Print each competition's result: a line of JSON, or a table."""
    for result in results:
        if json:
            print_json(result)
        else:
            _print(result)


def _print(result: Mapping[str, Any]) -> None:
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


def _played(one: "Competition") -> dict[str, Any]:
    return {
        "competition": one.slug,
        "begins": one.card.enabled_at.isoformat(),
        "deadline": one.card.deadline.isoformat(),
        "shift_seconds": one.snapshot.shift.total_seconds(),
    }


def _line(one: "Competition") -> str:
    words = shift_in_words(one.snapshot.shift)
    span = f"{one.card.enabled_at:%Y-%m-%d %H:%M} to {one.card.deadline:%Y-%m-%d %H:%M}"
    return f"{one.slug}: {span}{', all of it ' if words else ''}{words}"


def _progress_of(one: "Competition", clock: FastClock, now: datetime) -> str:
    sent = len(one.desk.all(now))
    scores = [sent.public_score for sent in one.desk.best_public(now)]
    best = f", best {scores[0]:g}" if scores and scores[0] is not None else ""
    seconds = max(0.0, (one.deadline(now) - now).total_seconds() / clock.speed)
    return f"{one.slug}: {sent} submissions{best}, {'over' if one.over(now) else f'{seconds:.0f} s left'}"
