"""The text of a daemon's status: lines on the daemon, a table of competitions, and a few lines on each."""

import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
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
_PARTS = {
    **{part: part for part in ("topics", "scores", "submissions", "pages", "data")},
    **{"kernels": "public notebooks", "board": "leaderboard", "top": "top of the leaderboard"},
}
"""What a person may wait for, of all that is polled."""
_LABEL = 10
_NAME = 22
_HARD_SPACE = "\N{NO-BREAK SPACE}"


def daemon_lines(status: DaemonStatus, competitions: Sequence[CompetitionStatus] = ()) -> Iterator[str]:
    """Yield the lines on the daemon itself, and on what came of the competitions once all are over."""
    yield from _wrapped("daemon", f"{_running(status, competitions)}; {_disk(status)}")
    spending = status.spent
    yield from _wrapped("today", f"{_money(spending)}, {_tokens(spending)}")
    for competition in competitions:
        yield from (_wrapped("NEEDS YOU", _to_approve(competition)) if competition.held else ())
    for problem in status.problems:
        yield from _wrapped("NEEDS YOU", f"{problem.sentence} (for {span(status.now, problem.since)})")
    for cause in status.dead:
        yield from _wrapped("given up", _given_up(cause))
    for service, letters in status.letters.items():
        failing = f", {letters.failing} of them failed: {letters.error}" if letters.failing else ""
        service_words = f" through {service}" if service else ""
        yield from _wrapped("notices", f"{letters.waiting} not sent yet{service_words}{failing}")
    if status.next:
        yield from _wrapped("next", _due(status.next, status.now))


def row(status: CompetitionStatus) -> tuple[str, ...]:
    """Return a competition's row of the table."""
    day = next((account for account in status.spent if account.level == "competition day"), None)
    unused = "" if status.sent.left_today is None else f", {status.sent.left_today} left"
    return (
        "\n".join(textwrap.wrap(status.competition, _NAME)),
        status.state if status.control == "running" else f"{status.state}, {status.control} by you",
        "–" if status.days_left is None else "over" if status.days_left == 0 else _span(status.days_left * 86_400),
        "–"
        if status.rank.rank is None
        else f"{status.rank.rank} of {status.rank.teams or '?'}\n{status.rank.medal or ''}".strip(),
        number(status.nodes.best_score),
        str(status.nodes.all),
        f"{status.sent.today}{unused}" if status.submit else "off",
        "–" if day is None else f"${day.figures[Kind.MONEY].spent:.2f}",
    )


def detail_lines(
    status: CompetitionStatus, now: datetime, problems: Collection[str] = (), *, running: bool = True
) -> Iterator[str]:
    """Yield what the table has no room for; sentences of `problems` stand above, `running`: whether a daemon works on it."""
    run = (
        f": {status.run.agent} with {status.run.model}, run {status.run.id} ({status.run.status})"
        if status.run
        else ": no run yet"
    )
    yield from textwrap.wrap(status.competition + run, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
    yield from _state(status, now, problems, running=running)
    if status.deadline is not None:
        yield from _wrapped("ends", f"{moment(status.deadline)}, {_time_to_end(status)}")
    yield from _poll_lines(status, now)
    if status.posts != Posts():
        yield from _wrapped("knows", _knowledge(status))
    if status.run is not None:
        yield from _wrapped("nodes", _nodes(status))
    yield from doubt_lines(status.doubts)
    for work in status.doing:
        yield from _wrapped("now", _doing(work, now if running else None))
    if status.submit or status.sent.all:
        yield from _wrapped("sent", _submissions(status))
    for notebook in status.notebooks:
        line = f"of node {notebook.node}: {notebook.sentence} (for {span(now, notebook.since)})"
        yield from _wrapped("notebook", line)
    yield from _wrapped("rank", _rank(status, now))
    for account in status.spent if status.run is not None else ():
        yield from _wrapped("spent", _spending(account))
    yield from _wrapped("next", _due(status.next, now))
    for note in status.notes:
        yield from _wrapped("note", _note(note))


def work_lines(status: CompetitionStatus, now: datetime, poll_seconds: float) -> Iterator[str]:
    """Yield what is going on, and what comes next; the next poll is due in `poll_seconds`."""
    yield from _state(status, now, (), running=True)
    for work in status.doing:
        yield from _wrapped("now", _doing(work, now))
    for account in status.spent if status.run is not None else ():
        if account.level == "competition":
            yield from _wrapped("spent", _spending(account))
    poll = f"poll {f'in {_span(poll_seconds)}' if poll_seconds else 'due'}"
    yield from _wrapped("next", ", ".join([poll, *([_due(status.next, now)] if status.next else [])]))


def _state(status: CompetitionStatus, now: datetime, problems: Collection[str], *, running: bool) -> Iterator[str]:
    live = running or status.state != "working"
    since = "" if status.since is None else f" for {span(now, status.since)}" if live else " when the daemon stopped"
    parts = [f"{status.state}{since}", "see above" if status.why in problems else status.why]
    if status.control != "running":
        parts.append(f"you have {status.control} it")
    if not status.configured:
        parts.append("not configured in bot.toml")
    yield from _wrapped("state", "; ".join(part for part in parts if part))


def doubt_lines(doubts: Sequence[Doubt]) -> Iterator[str]:
    """Yield the guards' doubts about nodes and data."""
    for doubt in doubts:
        subject = "the data" if doubt.node is None else f"node {doubt.node}"
        yield from _wrapped("doubts", f"{subject}: {doubt.sentence}")


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
    text = re.sub("`[^`]+`", lambda command: command[0].replace(" ", _HARD_SPACE), text)  # commands are copied whole
    first = f"  {label:{_LABEL}}"
    indent = " " * len(first)
    # Names of competitions have hyphens, and are to be found and copied whole.
    lines = textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,  # a broken address cannot be opened
    )
    yield from [line.replace(_HARD_SPACE, " ") for line in lines] or [first.rstrip()]


def _running(daemon: DaemonStatus, competitions: Sequence[CompetitionStatus]) -> str:
    if daemon.since is None:
        return "running" if daemon.running else "never started: `bot run` starts it"
    since = (
        f"{moment(daemon.since)} ({span(daemon.now, daemon.since)}), version {daemon.version}, process {daemon.process}"
    )
    if daemon.running:
        return f"running since {since}"
    if daemon.ended and competitions and all(c.state == "over" for c in competitions):
        ranks = "; ".join(f"{_ended_with(c)}" for c in competitions)
        return f"finished {moment(daemon.ended)}: {ranks}"
    if daemon.ended:
        return f"stopped {moment(daemon.ended)}, started {since}; `bot run` continues"
    return f"stopped unexpectedly (killed, or the machine went down); started {since}; `bot run` continues"


def _to_approve(status: CompetitionStatus) -> str:
    orders = ", ".join(f"`bot approve {id}`" for id in status.held)
    return (
        f"{plural(len(status.held), 'file')} of {status.competition} to approve, or to refuse with --refuse: {orders}"
    )


def _given_up(cause: GivenUp) -> str:
    reason = cause.error or "reason unknown"
    return f"{plural(cause.tasks, 'task')} ({', '.join(cause.of)}), last {moment(cause.at)}: {reason}"


def _ended_with(status: CompetitionStatus) -> str:
    rank = "no rank" if status.rank.rank is None else f"rank {status.rank.rank} of {status.rank.teams or '?'}"
    medal = f", {status.rank.medal}" if status.rank.medal else ""
    return f"{rank}{medal} on {status.competition}"


def _disk(daemon: DaemonStatus) -> str:
    return f"{daemon.folder} has {daemon.free_bytes / 1e9:.1f} GB free, its database takes {daemon.database_bytes / 1e6:.1f} MB"


def _time_to_end(status: CompetitionStatus) -> str:
    return "which is past" if not status.days_left else f"in {_span(status.days_left * 86_400)}"


def _poll_lines(status: CompetitionStatus, now: datetime) -> Iterator[str]:
    read = sorted((part for part in status.polled if part.at), key=lambda part: part.at or now, reverse=True)
    ages = ", ".join(f"{_PARTS[part.part]} {span(now, part.at)}" for part in read if part.at and part.part in _PARTS)
    yield from _wrapped("polled", f"{ages} ago" if ages else "never yet")
    for part in status.polled:
        if part.failures:
            yield from _wrapped("problem", _failed(part, now))


def _failed(part: PartPolled, now: datetime) -> str:
    times = "once" if part.failures == 1 else f"{part.failures} times"
    since = f", last {span(now, part.failed_at)} ago" if part.failed_at else ""
    return f"{part.part} {'was refused' if part.refused else 'failed'} {times}{since}: {part.error}"


def _knowledge(status: CompetitionStatus) -> str:
    posts, pool = status.posts, status.pool
    read = f"{plural(posts.messages, 'message')} in {plural(posts.topics, 'topic')}, {plural(posts.kernels, 'kernel')}"
    ideas = f"{plural(pool.ideas, 'idea')}, {plural(pool.drafts, 'draft')}, {plural(pool.reports, 'report')}"
    return f"{read}, {pool.analyses} analysed; {ideas}"


def _nodes(status: CompetitionStatus) -> str:
    nodes = status.nodes
    best = "" if nodes.best is None else f"; best by validation: {number(nodes.best_score)} of node {nodes.best}"
    return (
        f"{nodes.all}: {nodes.running} running, {nodes.valid} valid, {nodes.buggy} buggy, {nodes.failed} failed{best}"
    )


def _doing(work: Doing, now: datetime | None) -> str:
    since = "when the daemon stopped" if now is None else f"for {span(now, datetime.fromisoformat(work.since))}"
    return f"{work.sentence}, {since}"


def _submissions(status: CompetitionStatus) -> str:
    counts = status.sent
    unused = "unknown number left" if counts.left_today is None else f"{counts.left_today} left today"
    parts = [f"{counts.today} today, {unused}, {counts.all} in all", f"last public score {number(counts.last_score)}"]
    if (under_way := counts.open - len(status.held)) > 0:
        parts.append(f"{under_way} not confirmed yet")
    if status.held:
        parts.append(f"held until you approve: {', '.join(f'`bot approve {id}`' for id in status.held)}")
    if not status.submit:
        parts.append("submitting is off (submit = false)")
    return "; ".join(parts)


def _rank(status: CompetitionStatus, now: datetime) -> str:
    rank = status.rank
    if rank.rank is None:
        return "none yet" + (f" among {plural(rank.teams, 'team')}" if rank.teams else "")
    score = "" if rank.score is None else f", {'private' if rank.private else 'public'} score {number(rank.score)}"
    since = f", for {span(now, rank.at)}" if rank.at else ""
    return f"{rank.rank} of {rank.teams or '?'}, {rank.medal or 'no medal'}{score}{since}"


def _spending(account: Account) -> str:
    name = {"competition": "in all", "competition day": "today", "run": "this run"}.get(account.level, account.name)
    executions = account.figures[Kind.EXECUTIONS]
    run = f"{plural(round(executions.spent), 'execution')}{_cap_words(executions, '{:.0f}')}"
    return f"{name}: {_money(account)}, {_tokens(account)}, {run}"


def _money(account: Account) -> str:
    figure = account.figures[Kind.MONEY]
    unpriced = f" and {plural(account.unpriced, 'call')} of unknown price" if account.unpriced else ""
    return f"${figure.spent:.2f}{_cap_words(figure, '${:.2f}')}{unpriced}"


def _tokens(account: Account) -> str:
    figure = account.figures[Kind.TOKENS]
    return f"{figure.spent:,.0f} new tokens{_cap_words(figure, '{:,.0f}')}"


def _cap_words(figure: Figure, form: str) -> str:
    if figure.cap is None or figure.left is None:
        return ""
    return f" of {form.format(figure.cap)} ({form.format(figure.left)} left)"


def _due(tasks: Sequence[Queued], now: datetime) -> str:
    due_tasks = []
    for task in tasks:
        due = f"in {_span((task.due_at - now).total_seconds())}" if task.due_at > now else "due"
        tries = f" ({_times(task.tries)})" if task.tries else ""
        due_tasks.append(f"{task.kind} {'is running' if task.status == 'leased' else due}{tries}")
    return ", ".join(due_tasks) or "nothing is due"


def _note(note: NoteRead) -> str:
    read = "not read yet" if note.read_at is None else f"read by the {note.read_by} {moment(note.read_at)}"
    return f"{note.id} of {moment(note.at)}, {read}: {note.text}"


def _times(tries: int) -> str:
    return f"failed {'once' if tries == 1 else f'{tries} times'}"
