"""The text of a daemon's status: lines on the daemon, a table of competitions, and a few lines on each."""

import re
import textwrap
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from bot.budgets.figures import Figure
from bot.budgets.kinds import Kind
from bot.cli.output import number
from bot.engine.run_record import Doing
from bot.models.quoting import clean
from bot.status.accounts import Account
from bot.status.queue import QueuedTask
from bot.status.site import Posts
from bot.status.status import CompetitionStatus, DaemonStatus
from state.words import moment, plural

COLUMNS = ("competition", "state", "ends in", "rank", "best\nscore", "nodes", "submitted\ntoday", "spent\ntoday")
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
    free = f"{status.folder} has {status.free_bytes / 1e9:.1f} GB free"
    database = f"the database takes {status.database_bytes / 1e6:.1f} MB"
    yield from _wrapped("daemon", f"{_running(status, competitions)}; {free}; {database}")
    yield from _wrapped("today", f"{_money(status.account)}, {_tokens(status.account)}")
    for competition in competitions:
        if competition.pending:
            orders = ", ".join(f"`bot approve {id}`" for id in competition.pending)
            files = f"{plural(len(competition.pending), 'file')} for {competition.competition}"
            yield from _wrapped("NEEDS YOU", f"{files} waiting for approval: {orders} (to refuse, add --refuse)")
    for problem in status.problems:
        yield from _wrapped("NEEDS YOU", f"{problem.sentence} (for {span(status.now, problem.since)})")
    for cause in status.dead:
        tasks = f"{plural(cause.tasks, 'task')} ({', '.join(cause.names)}), last attempt {moment(cause.last_at)}"
        yield from _wrapped("given up", f"{tasks}: {cause.error or 'reason unknown'}")
    for service, letters in status.letters.items():
        failing = f", {letters.failing} failed: {letters.error}" if letters.failing else ""
        service_words = f" through {service}" if service else ""
        yield from _wrapped("notices", f"{letters.unsent} not sent yet{service_words}{failing}")
    if status.next:
        yield from _wrapped("next", _due(status.next, status.now))


def row(status: CompetitionStatus) -> tuple[str, ...]:
    """Return a competition's row of the table."""
    day = next((account for account in status.accounts if account.level == "competition day"), None)
    unused = "" if status.submissions.left_today is None else f", {status.submissions.left_today} left"
    return (
        "\n".join(textwrap.wrap(status.competition, _NAME)),
        status.state if status.control == "running" else f"{status.control} by you",
        "–" if status.days_left is None else "over" if status.days_left == 0 else _span(status.days_left * 86_400),
        "–"
        if status.rank.rank is None
        else f"{status.rank.rank} of {status.rank.teams or '?'}\n{status.rank.medal or ''}".strip(),
        number(status.nodes.best_score),
        str(status.nodes.all),
        f"{status.submissions.today}{unused}" if status.submit else "off",
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
        time_left = f"in {_span(status.days_left * 86_400)}" if status.days_left else "already past"
        yield from _wrapped("ends", f"{moment(status.deadline)}, {time_left}")
    yield from _poll_lines(status, now)
    posts, pool, nodes = status.posts, status.pool, status.nodes
    if posts != Posts():
        read = (
            f"{plural(posts.messages, 'message')} in {plural(posts.topics, 'topic')}, {plural(posts.kernels, 'kernel')}"
        )
        ideas = f"{plural(pool.ideas, 'idea')}, {plural(pool.drafts, 'draft')}, {plural(pool.reports, 'report')}"
        yield from _wrapped("knows", f"{read}, {pool.analyses} analysed; {ideas}")
    if status.run is not None:
        counts = f"{nodes.running} running, {nodes.valid} valid, {nodes.buggy} buggy, {nodes.failed} failed"
        best = "" if nodes.best is None else f"; best validation score: {number(nodes.best_score)} (node {nodes.best})"
        yield from _wrapped("nodes", f"{nodes.all}: {counts}{best}")
    for doubt in status.doubts:
        subject = "the data" if doubt.node is None else f"node {doubt.node}"
        yield from _wrapped("doubts", f"{subject}: {doubt.sentence}")
    for work in status.doing:
        yield from _wrapped("now", _doing(work, now if running else None))
    if status.submit or status.submissions.all:
        yield from _wrapped("sent", _submissions(status))
    for notebook in status.notebooks:
        line = f"node {notebook.node}: {notebook.sentence} (for {span(now, notebook.since)})"
        yield from _wrapped("notebook", line)
    yield from _wrapped("rank", _rank(status, now))
    for account in status.accounts if status.run is not None else ():
        yield from _wrapped("spent", _spending(account))
    yield from _wrapped("next", _due(status.next, now))
    for note in status.notes:
        read = "not read yet" if note.read_at is None else f"read by the {note.read_by} {moment(note.read_at)}"
        yield from _wrapped("note", f"{note.id} from {moment(note.created_at)}, {read}: {note.text}")


def work_lines(status: CompetitionStatus, now: datetime, poll_seconds: float) -> Iterator[str]:
    """Yield what is going on, and what comes next; the next poll is due in `poll_seconds`."""
    if status.reason or status.state != "working":
        yield from _state(status, now, (), running=True)
    for work in status.doing:
        yield from _wrapped("now", _doing(work, now))
    for account in status.accounts if status.run is not None else ():
        if account.level == "competition":
            yield from _wrapped("spent", _spending(account))
    due, poll = _due(status.next, now), f"read Kaggle ({f'in {_span(poll_seconds)}' if poll_seconds else 'due'})"
    yield from _wrapped("next", due if "read Kaggle" in due else f"{poll}, {due}" if status.next else poll)


def _state(status: CompetitionStatus, now: datetime, problems: Collection[str], *, running: bool) -> Iterator[str]:
    live = running or status.state != "working"
    since = "" if status.since is None else f" for {span(now, status.since)}" if live else " when the daemon stopped"
    parts = [f"{status.state}{since}", "see above" if status.reason in problems else status.reason]
    if status.control not in ("running", status.state):
        parts.append(f"you have {status.control} it")
    if not status.configured:
        parts.append("not configured in bot.toml")
    yield from _wrapped("state", "; ".join(part for part in parts if part))


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
        return "running" if daemon.running else "never started; `bot run` starts it"
    since = (
        f"{moment(daemon.since)} ({span(daemon.now, daemon.since)}), version {daemon.version}, process {daemon.process}"
    )
    if daemon.running:
        return f"running since {since}"
    if daemon.ended_at and competitions and all(c.state == "over" for c in competitions):
        ranks = []
        for competition in competitions:
            rank = competition.rank
            place = "no rank" if rank.rank is None else f"rank {rank.rank} of {rank.teams or '?'}"
            ranks.append(f"{place}{f', {rank.medal}' if rank.medal else ''} on {competition.competition}")
        return f"finished {moment(daemon.ended_at)}: {'; '.join(ranks)}"
    if daemon.ended_at:
        return f"stopped {moment(daemon.ended_at)}, started {since}; `bot run` resumes it"
    return f"stopped unexpectedly (killed, or the machine shut down); started {since}; `bot run` resumes it"


def _poll_lines(status: CompetitionStatus, now: datetime) -> Iterator[str]:
    read = sorted((part for part in status.polls if part.read_at), key=lambda part: part.read_at or now, reverse=True)
    ages = ", ".join(
        f"{_PARTS[part.part]} {span(now, part.read_at)}" for part in read if part.read_at and part.part in _PARTS
    )
    yield from _wrapped("polled", f"{ages} ago" if ages else "not yet")
    for part in (part for part in status.polls if part.failures):
        since = f", last {span(now, part.failed_at)} ago" if part.failed_at else ""
        failure = f"{'was refused' if part.refused else 'failed'} {_times(part.failures)}{since}"
        yield from _wrapped("problem", f"{part.part} {failure}: {part.error}")


def _doing(work: Doing, now: datetime | None) -> str:
    since = "when the daemon stopped" if now is None else f"for {span(now, datetime.fromisoformat(work.since))}"
    return f"{work.sentence}, {since}"


def _submissions(status: CompetitionStatus) -> str:
    counts = status.submissions
    unused = "unknown number left" if counts.left_today is None else f"{counts.left_today} left today"
    parts = [f"{counts.today} today, {unused}, {counts.all} in total", f"last public score {number(counts.last_score)}"]
    if (unconfirmed := counts.open - len(status.pending)) > 0:
        parts.append(f"{unconfirmed} not confirmed yet")
    if status.pending:
        parts.append(f"awaiting your approval: {', '.join(f'`bot approve {id}`' for id in status.pending)}")
    if not status.submit:
        parts.append("submission is off (submit = false)")
    return "; ".join(parts)


def _rank(status: CompetitionStatus, now: datetime) -> str:
    rank = status.rank
    if rank.rank is None:
        return "none yet" + (f" among {plural(rank.teams, 'team')}" if rank.teams else "")
    score = "" if rank.score is None else f", {'private' if rank.private else 'public'} score {number(rank.score)}"
    since = f", for {span(now, rank.since)}" if rank.since else ""
    return f"{rank.rank} of {rank.teams or '?'}, {rank.medal or 'no medal'}{score}{since}"


def _spending(account: Account) -> str:
    name = {"competition": "in total", "competition day": "today", "run": "this run"}.get(account.level, account.name)
    executions = account.figures[Kind.EXECUTIONS]
    run = f"{plural(round(executions.spent), 'execution')}{_cap_words(executions, '{:.0f}')}"
    return f"{name}: {_money(account)}, {_tokens(account)}, {run}"


def _money(account: Account) -> str:
    figure = account.figures[Kind.MONEY]
    unpriced = f" and {plural(account.unpriced, 'call')} with unknown price" if account.unpriced else ""
    return f"${figure.spent:.2f}{_cap_words(figure, '${:.2f}')}{unpriced}"


def _tokens(account: Account) -> str:
    figure = account.figures[Kind.TOKENS]
    return f"{figure.spent:,.0f} new tokens{_cap_words(figure, '{:,.0f}')}"


def _cap_words(figure: Figure, form: str) -> str:
    if figure.cap is None or figure.left is None:
        return ""
    return f" of {form.format(figure.cap)} ({form.format(figure.left)} left)"


def _due(tasks: Sequence[QueuedTask], now: datetime) -> str:
    due_tasks = []
    for task in tasks:
        due = f"in {_span((task.due_at - now).total_seconds())}" if task.due_at > now else "due"
        tries = f" (failed {_times(task.tries)})" if task.tries else ""
        due_tasks.append(f"{task.title} ({'in progress' if task.status == 'leased' else due}){tries}")
    return ", ".join(due_tasks) or "nothing is due"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
