"""The text of a daemon's status: lines on the daemon, a table of competitions, and a few lines on each."""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.budgets.figures import Figure
from bot.budgets.kinds import Kind
from bot.cli.output import number
from bot.engine.run_record import Doing, Doubt
from bot.models.quoting import clean
from bot.status.accounts import Account
from bot.status.queue import GivenUp, NoteRead, Queued
from bot.status.site import PartPolled, Posts
from bot.status.status import CompetitionStatus, DaemonStatus
from state.words import moment, plural

COLUMNS = ("competition", "state", "ends in", "rank", "best", "nodes", "sent\ntoday", "spent\ntoday")
_WIDTH = 80
"""Most characters of a line."""
_LABEL = 10
_NAME = 22


def daemon_lines(one: DaemonStatus, competitions: Sequence[CompetitionStatus] = ()) -> Iterator[str]:
    """Yield the lines on the daemon itself, and on what came of the competitions once all are over."""
    yield from _wrapped("daemon", f"{_running(one, competitions)}; {_disk(one)}")
    spent = one.spent
    yield from _wrapped("today", f"{_money(spent)}, {_tokens(spent)}")
    for competition in competitions:
        yield from (_wrapped("NEEDS YOU", _to_approve(competition)) if competition.held else ())
    for problem in one.problems:
        yield from _wrapped("NEEDS YOU", f"{problem.sentence} (for {span(one.now, problem.since)})")
    for cause in one.dead:
        yield from _wrapped("given up", _given_up(cause))
    for service, letters in one.letters.items():
        failing = f", {letters.failing} of them failed: {letters.error}" if letters.failing else ""
        to = f" through {service}" if service else ""
        yield from _wrapped("notices", f"{letters.waiting} not sent yet{to}{failing}")
    if one.next:
        yield from _wrapped("next", _due(one.next, one.now))


def row(one: CompetitionStatus) -> tuple[str, ...]:
    """Return a competition's row of the table."""
    day = next((account for account in one.spent if account.level == "competition day"), None)
    left = "" if one.sent.left_today is None else f", {one.sent.left_today} left"
    return (
        "\n".join(textwrap.wrap(one.competition, _NAME)),
        one.state if one.control == "running" else f"{one.state}, {one.control} by you",
        "–" if one.days_left is None else "over" if one.days_left == 0 else _span(one.days_left * 86_400),
        "–" if one.rank.rank is None else f"{one.rank.rank} of {one.rank.teams or '?'}\n{one.rank.medal or ''}".strip(),
        number(one.nodes.best_score),
        str(one.nodes.all),
        f"{one.sent.today}{left}" if one.submit else "off",
        "–" if day is None else f"${day.figures[Kind.MONEY].spent:.2f}",
    )


def detail_lines(one: CompetitionStatus, now: datetime, *, running: bool = True) -> Iterator[str]:
    """Yield what the table has no room for; `running`: whether a daemon works on it."""
    run = f": {one.run.agent} with {one.run.model}, run {one.run.id} ({one.run.status})" if one.run else ": no run yet"
    yield from textwrap.wrap(one.competition + run, _WIDTH, subsequent_indent="  ")
    stands = running or one.state != "working"
    since = "" if one.since is None else f" for {span(now, one.since)}" if stands else " when the daemon stopped"
    parts = [f"{one.state}{since}", one.why]
    if one.control != "running":
        parts.append(f"you have {one.control} it")
    if not one.configured:
        parts.append("it has no table in bot.toml")
    yield from _wrapped("state", "; ".join(part for part in parts if part))
    if one.deadline is not None:
        yield from _wrapped("ends", f"{moment(one.deadline)}, {_ends(one)}")
    yield from _polled(one, now)
    if one.posts != Posts():
        yield from _wrapped("knows", _known(one))
    if one.run is not None:
        yield from _wrapped("nodes", _nodes(one))
    yield from doubt_lines(one.doubts)
    for work in one.doing:
        yield from _wrapped("now", _doing(work, now if running else None))
    if one.submit or one.sent.all:
        yield from _wrapped("sent", _sent(one))
    for notebook in one.notebooks:
        line = f"of node {notebook.node}: {notebook.sentence} (for {span(now, notebook.since)})"
        yield from _wrapped("notebook", line)
    yield from _wrapped("rank", _rank(one, now))
    for account in one.spent if one.run is not None else ():
        yield from _wrapped("spent", _spent(account))
    yield from _wrapped("next", _due(one.next, now))
    for note in one.notes:
        yield from _wrapped("note", _note(note))


def doubt_lines(doubts: Sequence[Doubt]) -> Iterator[str]:
    """Yield the guards' doubts about nodes and data."""
    for doubt in doubts:
        about = "the data" if doubt.node is None else f"node {doubt.node}"
        yield from _wrapped("doubts", f"{about}: {doubt.sentence}")


def span(now: datetime, since: datetime) -> str:
    """Return how long something has lasted, such as `12 min`."""
    return _span((now - since).total_seconds())


def _span(seconds: float) -> str:
    seconds = max(0.0, seconds)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h" if seconds < 36 * 3600 else f"{seconds / 86_400:.1f} d"


def _wrapped(label: str, text: str) -> Iterator[str]:
    # Foreign text has line ends of its own, and must not control the terminal.
    text = " ".join(clean(text).split())
    first = f"  {label:{_LABEL}}"
    indent = " " * len(first)
    # Names of competitions have hyphens, and are to be found and copied whole.
    lines = textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False)
    yield from lines or [first.rstrip()]


def _running(one: DaemonStatus, competitions: Sequence[CompetitionStatus]) -> str:
    if one.since is None:
        return "running" if one.running else "never started: `bot run` starts it"
    began = f"{moment(one.since)} ({span(one.now, one.since)}), version {one.version}, process {one.process}"
    if one.running:
        # A sign of life from before it began is an earlier daemon's.
        alive = f", last sign of life {span(one.now, one.alive)} ago" if one.alive and one.alive >= one.since else ""
        return f"running since {began}{alive}"
    if one.ended and competitions and all(known.state == "over" for known in competitions):
        ranks = "; ".join(f"{_ended_with(known)}" for known in competitions)
        return f"finished {moment(one.ended)}: {ranks}"
    if one.ended:
        return f"stopped {moment(one.ended)}, after it had begun {began}; `bot run` goes on"
    return f"stopped without ending in order (killed, or the machine went down); it began {began}; `bot run` goes on"


def _to_approve(one: CompetitionStatus) -> str:
    orders = ", ".join(f"`bot approve {id}`" for id in one.held)
    return f"{plural(len(one.held), 'file')} of {one.competition} to approve, or to refuse with --refuse: {orders}"


def _given_up(cause: GivenUp) -> str:
    why = cause.error or "no reason is known"
    return f"{plural(cause.tasks, 'task')} ({', '.join(cause.of)}), last {moment(cause.at)}: {why}"


def _ended_with(one: CompetitionStatus) -> str:
    """Return what came of a competition that is over."""
    rank = "no rank" if one.rank.rank is None else f"rank {one.rank.rank} of {one.rank.teams or '?'}"
    medal = f", {one.rank.medal}" if one.rank.medal else ""
    return f"{rank}{medal} on {one.competition}"


def _disk(one: DaemonStatus) -> str:
    return f"{one.folder} has {one.free_bytes / 1e9:.1f} GB free, its database takes {one.database_bytes / 1e6:.1f} MB"


def _ends(one: CompetitionStatus) -> str:
    return "which is past" if not one.days_left else f"in {_span(one.days_left * 86_400)}"


def _polled(one: CompetitionStatus, now: datetime) -> Iterator[str]:
    read = sorted((part for part in one.polled if part.at), key=lambda part: part.at or now, reverse=True)
    ages = ", ".join(f"{part.part} {span(now, part.at)}" for part in read if part.at)
    yield from _wrapped("polled", f"{ages} ago" if ages else "never yet")
    for part in one.polled:
        if part.failures:
            yield from _wrapped("problem", _failed(part, now))


def _failed(part: PartPolled, now: datetime) -> str:
    times = "once" if part.failures == 1 else f"{part.failures} times"
    since = f", last {span(now, part.failed_at)} ago" if part.failed_at else ""
    return f"{part.part} {'was refused' if part.refused else 'failed'} {times}{since}: {part.error}"


def _known(one: CompetitionStatus) -> str:
    posts, pool = one.posts, one.pool
    read = f"{plural(posts.messages, 'message')} in {plural(posts.topics, 'topic')}, {plural(posts.kernels, 'kernel')}"
    made = f"{plural(pool.ideas, 'idea')}, {plural(pool.drafts, 'draft')}, {plural(pool.reports, 'report')}"
    return f"{read}, {pool.analyses} analysed; {made}"


def _nodes(one: CompetitionStatus) -> str:
    nodes = one.nodes
    best = "" if nodes.best is None else f"; best by validation: {number(nodes.best_score)} of node {nodes.best}"
    return (
        f"{nodes.all}: {nodes.running} running, {nodes.valid} valid, {nodes.buggy} buggy, {nodes.failed} failed{best}"
    )


def _doing(work: Doing, now: datetime | None) -> str:
    what = work.action if work.execution is None else f"{work.execution} on {work.view}"
    if now is None:
        return f"node {work.node}: {what}, when the daemon stopped"
    return f"node {work.node}: {what} for {span(now, datetime.fromisoformat(work.since))}"


def _sent(one: CompetitionStatus) -> str:
    sent = one.sent
    left = "an unknown number left" if sent.left_today is None else f"{sent.left_today} left today"
    parts = [f"{sent.today} today, {left}, {sent.all} in all", f"last public score {number(sent.last_score)}"]
    if sent.open:
        parts.append(f"{sent.open} not settled")
    if one.held:
        parts.append(f"held until you approve: {', '.join(f'`bot approve {id}`' for id in one.held)}")
    if not one.submit:
        parts.append("nothing is sent: submit is not true")
    return "; ".join(parts)


def _rank(one: CompetitionStatus, now: datetime) -> str:
    rank = one.rank
    if rank.rank is None:
        return f"none yet{f' among {rank.teams} teams' if rank.teams else ''}"
    score = "" if rank.score is None else f", {'private' if rank.private else 'public'} score {number(rank.score)}"
    since = f", for {span(now, rank.at)}" if rank.at else ""
    return f"{rank.rank} of {rank.teams or '?'}, {rank.medal or 'no medal'}{score}{since}"


def _spent(account: Account) -> str:
    name = {"competition": "in all", "competition day": "today", "run": "this run"}.get(account.level, account.name)
    executions = account.figures[Kind.EXECUTIONS]
    run = f"{plural(round(executions.spent), 'execution')}{_of(executions, '{:.0f}')}"
    return f"{name}: {_money(account)}, {_tokens(account)}, {run}"


def _money(account: Account) -> str:
    figure = account.figures[Kind.MONEY]
    more = f" and {plural(account.unpriced, 'call')} of unknown price" if account.unpriced else ""
    return f"${figure.spent:.2f}{_of(figure, '${:.2f}')}{more}"


def _tokens(account: Account) -> str:
    figure = account.figures[Kind.TOKENS]
    return f"{figure.spent:,.0f} new tokens{_of(figure, '{:,.0f}')}"


def _of(figure: Figure, form: str) -> str:
    if figure.cap is None or figure.left is None:
        return ""
    return f" of {form.format(figure.cap)} ({form.format(figure.left)} left)"


def _due(tasks: Sequence[Queued], now: datetime) -> str:
    found = []
    for task in tasks:
        due = f"in {_span((task.due_at - now).total_seconds())}" if task.due_at > now else "due"
        tried = f" ({_tried(task.tries)})" if task.tries else ""
        found.append(f"{task.kind} {'runs' if task.status == 'leased' else due}{tried}")
    return ", ".join(found) or "nothing is due"


def _note(note: NoteRead) -> str:
    read = "not read yet" if note.read_at is None else f"read by the {note.read_by} {moment(note.read_at)}"
    return f"{note.id} of {moment(note.at)}, {read}: {note.text}"


def _tried(tries: int) -> str:
    return f"failed {'once' if tries == 1 else f'{tries} times'}"
