"""The pages: what each reads, and of which parts it is made."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from sqlmodel import Session

from bot.engine.run_record import RunRecord
from bot.live.reading.proposals import CardProposal, unanswered
from bot.report import words
from bot.report.charts import Chart, Series, score_axis, time_axis, timed
from bot.report.nodes import OngoingRun, ReportableRun, node_rows
from bot.status.problems import current
from bot.status.runs import run_status
from bot.status.status import status_of
from bot.status.submissions import NotSubmitted, SubmissionShown, not_submitted, shown_submissions
from bot.submission.notebook_lines import NotebookLine, notebook_lines
from bot.submission.rules import lines_read, to_confirm
from bot.web.rendering import Page, page
from bot.web.run_view import progress, run_values
from bot.web.sources import Sources, Version, result_of, run_version
from sandbox.gpu import Gpus
from scrapers.kaggle.settings import KaggleSection
from state.errors import UsageError
from state.live import latest_runs
from state.series import history
from state.store import Store
from state.submissions import chosen_final


@dataclass(frozen=True)
class OwnerQuestion:
    """A question that one click answers."""

    kind: Literal["rules", "task"]
    statements: tuple[tuple[str, str], ...]
    """What was read, each with the quoted sentence of the page that says so; an empty quote: no page does."""
    address: str
    """Of the page that it is read on."""
    proposal: CardProposal | None = None
    """What is asked of a task."""


def questions(session: Session, competition: str, kaggle: KaggleSection) -> list[OwnerQuestion]:
    """Return the questions on a competition that are not answered yet."""
    open_keys = {problem.key for problem in current(session)}
    open_questions = []
    if to_confirm(competition) in open_keys:
        statements = tuple((line.short, line.quote) for line in lines_read(session, competition))
        open_questions.append(OwnerQuestion("rules", statements, kaggle.page_of(competition, "rules")))
    proposal = unanswered(session, competition)
    if f"card/{competition}" in open_keys and proposal is not None and (proposal.values or proposal.choices):
        statements = ((", ".join(proposal.lines), " … ".join(proposal.quotes)),) if proposal.values else ()
        address = kaggle.page_of(competition, "overview/evaluation")
        open_questions.append(OwnerQuestion("task", statements, address, proposal))
    return open_questions


MOST_SUBMISSIONS = 12
MOST_CHANGES = 8


@dataclass(frozen=True)
class RankChange:
    """One change of our standing."""

    time: datetime
    rank: int | None
    teams: int | None
    medal: str | None
    score: float | None
    gain: int | None
    """Places won since the change before; below 0: lost; None: unknown."""


@dataclass(frozen=True)
class BoardView:
    """A competition at the site, ready to be shown."""

    pending: tuple[SubmissionShown, ...]
    """Submissions that wait for the owner's approval."""
    submissions: tuple[SubmissionShown, ...]
    """The newest first."""
    submission_count: int
    confirmed: tuple[SubmissionShown, ...]
    """Submissions that the site has taken, the newest first: two of them count in the end."""
    selected_tags: tuple[str, ...]
    """Tags of those that the owner wants to count."""
    proposed_tags: tuple[str, ...]
    """Tags of those that were proposed last."""
    notebooks: tuple[NotebookLine, ...]
    """In a competition of notebooks: where each stands, the latest change first."""
    undecided: NotSubmitted | None
    """The last decision, if it made no submission."""
    ranks: Chart | None
    changes: tuple[RankChange, ...]
    """The newest first."""
    lines: Mapping[str, float]
    """Scores of the first team, of the last team with each medal, and the median."""


def board_view(session: Session, competition: str, run: RunRecord | None) -> BoardView:
    """Read a competition; `run` is its live run, None if there is none yet."""
    submissions = [] if run is None else [*shown_submissions(session, run)]
    readings = [row for row in history(session, competition, "watch") if row.sha256 is not None]
    standings: list[tuple[datetime, Mapping[str, Any]]]
    standings = [(row.at, row.data.get("standing", row.data)) for row in readings]
    proposal = None if run is None else run.last_event("selection.proposed")
    return BoardView(
        pending=tuple(submission for submission in submissions if submission.status == "held"),
        submissions=tuple(submissions[: -MOST_SUBMISSIONS - 1 : -1]),
        submission_count=len(submissions),
        confirmed=tuple(submission for submission in reversed(submissions) if submission.status == "confirmed"),
        selected_tags=() if run is None else chosen_final(session, run.id),
        proposed_tags=() if proposal is None else tuple(proposal.data["tags"]),
        notebooks=() if run is None else tuple(notebook_lines(session, run.id)[: -MOST_SUBMISSIONS - 1 : -1]),
        undecided=None if run is None else not_submitted(run),
        ranks=_rank_chart(standings),
        changes=tuple(reversed(_rank_changes(standings)))[:MOST_CHANGES],
        lines=standings[-1][1].get("lines") or {} if standings else {},
    )


def _rank_chart(standings: list[tuple[datetime, Mapping[str, Any]]]) -> Chart | None:
    ranks = [(time, float(standing["rank"])) for time, standing in standings if standing.get("rank")]
    if len(ranks) < 2:
        return None
    points = timed(ranks, ranks[0][0])
    y_axis = score_axis([rank for _, rank in ranks], [rank for _, rank in ranks[1:]], falling=True)
    y_axis = replace(y_axis, form="{:,.0f}".format, least_step=1.0)
    series = [Series("", "ours", points, "steps"), Series("", "good pale", points)]
    return Chart("Our rank over time (best at the top)", time_axis(points[-1][0]), y_axis, series, width=520)


def _rank_changes(standings: list[tuple[datetime, Mapping[str, Any]]]) -> list[RankChange]:
    """Return the changes of rank or medal, not of the number of teams alone."""
    changes, before = list[RankChange](), None
    for time, standing in standings:
        rank, medal = standing.get("rank"), standing.get("medal")
        if changes and (changes[-1].rank, changes[-1].medal) == (rank, medal):
            continue
        gain = before - rank if before and rank else None
        changes.append(RankChange(time, rank, standing.get("teams"), medal, standing.get("score"), gain))
        before = rank or before
    return changes


Place = Literal["competition", "run"]
"""Where a run is: in the daemon's database by its competition, or in a folder by its name."""
LONGEST_CODE = 60_000
LONGEST_LOG = 20_000
HOME = ("/", "All competitions")
_LEARNT = ("ideas", "posts")
_REPLAY = ("replay", "progress", "tree", "labs", *_LEARNT, "events")
_OVERVIEW = ("standing", "pending", "working", "progress", "board")
_COMPETITION = (*_OVERVIEW, "tree", "labs", "submissions", *_LEARNT, "steering", "events")
"""Parts, in order; one with nothing to show yet is empty, and keeps its place."""


@dataclass
class Views:
    """Reads what the pages show; each method returns a page as it is now.

    All raise, if what they show cannot be read:
        UsageError: there is none of that name.
        ConfigurationError: bot.toml is wrong.
        StateUnavailable, StateCorrupted, InfrastructureFailure: a database cannot be read now.
    """

    sources: Sources
    gpus: Gpus
    csrf: str
    """The secret that each form contains."""

    def version(self, place: Place | None = None, name: str = "") -> Version:
        """Return what differs when something that a page shows was written: of one run, or of everything."""
        if place == "run":
            return run_version(self.sources.run(name))
        return self.sources.version(() if place else self.sources.runs().values())

    def home(self) -> Page:
        """All competitions, and all runs in folders."""
        values: dict[str, Any] = {"lines": self.sources.lines(), "status": None, "sparklines": {}, "csrf": self.csrf}
        if self.sources.database is not None:
            store = self.sources.daemon()
            values["status"] = status = status_of(store, self.sources.allowance)
            with store.read() as session:
                values["sparklines"] = {
                    slug: progress(RunRecord(session, row), status.daemon.now, small=True)
                    for slug, row in latest_runs(session).items()
                }
        return page("All competitions", ("problems", "competitions", "runs"), values)

    def system(self) -> Page:
        """The daemon and the machine: slots, GPUs, polls, tasks, disk."""
        gpus = [
            {"gpu": gpu, "used": self.gpus.used_bytes(gpu.uuid), "busy": self.gpus.busy(gpu.uuid)}
            for gpu in self.gpus.all()
        ]
        values: dict[str, Any] = {"status": None, "settings": self.sources.settings, "gpus": gpus}
        if self.sources.database is not None:
            values["status"] = status_of(self.sources.daemon(), self.sources.allowance)
        return page("System", ("daemon", "machine", "polls", "tasks"), values, (HOME,))

    def competition(self, slug: str) -> Page:
        """One competition of the daemon."""
        store = self.sources.daemon()
        status = status_of(store, self.sources.allowance, (slug,))
        if not status.competitions:
            raise UsageError(f"unknown competition: {slug}")
        now, values = status.daemon.now, {"entry": status.competitions[0], "daemon": status.daemon, "csrf": self.csrf}
        with store.read() as session:
            row = latest_runs(session).get(slug)
            run = None if row is None else RunRecord(session, row)
            values |= {"now": now, "board": board_view(session, slug, run), "run": None}
            values["questions"] = questions(session, slug, self.sources.settings.kaggle)
            if run is not None:
                values |= run_values(store, run, _live(run), now, f"/competition/{slug}")
            return page(slug, _COMPETITION, values, (HOME,))

    def run(self, name: str) -> Page:
        """One replay, while it runs or afterwards."""
        folder, now = self.sources.run(name), datetime.now(UTC)
        files = [path.name for path in (folder.report, folder.submission) if path.is_file()]
        status = run_status(folder, now)
        values: dict[str, Any] = {"name": name, "now": now, "files": files, "run": None, "problem": None}
        values |= {"status": status, "graded": result_of(folder)}
        if folder.database.is_file() and status.status not in ("not started", "unreadable"):
            try:
                with self._open_run("run", name) as (store, run, outcome):
                    values |= run_values(store, run, outcome, now, f"/run/{name}")
                    return page(name, _REPLAY, values, (HOME,))
            except UsageError as error:
                # Another version of the bot made it: its result can still be read.
                values["problem"] = str(error)
        return page(name, _REPLAY, values, (HOME,))

    def node(self, place: Place, name: str, id: int) -> Page:
        """One node: its plan, script, error and what it printed."""
        with self._open_run(place, name) as (_, run, outcome):
            if not (nodes := run.pick_nodes([id])):
                raise UsageError(f"unknown node {id} in this run")
            values = {
                "row": node_rows(run, outcome, (), [id])[0],
                "code": words.shortened(run.text(nodes[0].code_sha), LONGEST_CODE),
                "log": words.ending(run.last_log(id), LONGEST_LOG),
                "address": f"/{place}/{name}",
                "test": "public score" if outcome.live else "hidden test score",
            }
            return page(f"Node {id}", ("node",), values, (HOME, (f"/{place}/{name}", name)))

    def lab(self, place: Place, name: str, id: int) -> Page:
        """One lab's whole conversation."""
        with self._open_run(place, name) as (_, run, _):
            if (lab := next((row for row in run.labs if row.id == id), None)) is None:
                raise UsageError(f"unknown lab {id} in this run")
            return page(f"Lab {id}", ("lab",), {"lab": run.lab(lab)}, (HOME, (f"/{place}/{name}", name)))

    @contextmanager
    def _open_run(self, place: Place, name: str) -> Iterator[tuple[Store, RunRecord, ReportableRun]]:
        """Open the run in a folder, or a competition's latest one, with what is known of its outcome."""
        folder = self.sources.run(name) if place == "run" else None
        store = self.sources.daemon() if folder is None else self.sources.store(folder.database)
        with store.read() as session:
            if folder is not None:
                run = RunRecord.load(session, name)
                yield store, run, result_of(folder) or OngoingRun(bool(run.lower_is_better), live=False)
            elif (row := latest_runs(session).get(name)) is not None:
                run = RunRecord(session, row)
                yield store, run, _live(run)
            else:
                raise UsageError(f"no run on {name} yet")


def _live(run: RunRecord) -> ReportableRun:
    """Return what is known of a live run's outcome: the public scores of its nodes."""
    public = {submission.node: submission.score for submission in run.submissions if submission.score is not None}
    return OngoingRun(bool(run.lower_is_better), live=True, hidden_scores=public)
