"""The pages: what each reads, and of which parts it is made."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from bot.execution.folder import RunFolder, lower_is_better
from bot.report.nodes import GoesOn, Outcome
from bot.report.words import shortened
from bot.status.runs import run_status
from bot.status.status import status_of
from bot.status.work import latest_runs
from bot.web.board_view import board_view
from bot.web.rendering import Page, page
from bot.web.run_view import RunView, ending, one_node, progress, run_view, turns_of
from bot.web.sources import Sources, Version, result_of, run_version
from sandbox.gpu import Gpus
from state.errors import UsageError
from state.store import Store, read_blob
from state.submissions import submissions_of
from state.tables import Lab, Run

Place = Literal["competition", "run"]
"""Where a run is: in the daemon's database by its competition, or in a folder by its name."""
LONGEST_CODE = 60_000
LONGEST_LOG = 20_000
LONGEST_TURN = 6_000
HOME = ("/", "All competitions")
_LEARNT = ("ideas", "posts")
_REPLAY = ("replay", "progress", "tree", "labs", *_LEARNT, "events")
_COMPETITION = ("standing", "held", "progress", "board", "tree", "labs", "submissions", *_LEARNT, "steering", "events")
"""Parts, in order; one that there is nothing to show in yet is empty, and has its place."""


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
    """What forms send along."""

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
                    slug: progress(session, run, status.daemon.now, small=True)
                    for slug, run in latest_runs(session).items()
                }
        return page("All competitions", ("problems", "competitions", "runs"), values)

    def system(self) -> Page:
        """The daemon and the machine: slots, GPUs, polls, tasks, disk."""
        values: dict[str, Any] = {"status": None, "settings": self.sources.settings, "gpus": self._gpus()}
        if self.sources.database is not None:
            values["status"] = status_of(self.sources.daemon(), self.sources.allowance)
        return page("System", ("daemon", "machine", "polls", "tasks"), values, (HOME,))

    def competition(self, slug: str) -> Page:
        """One competition of the daemon."""
        store = self.sources.daemon()
        status = status_of(store, self.sources.allowance, (slug,))
        if not status.competitions:
            raise UsageError(f"the daemon knows no competition {slug}")
        now = status.daemon.now
        with store.read() as session:
            run = latest_runs(session).get(slug)
            board, outcome = board_view(session, slug, run), None if run is None else _live(session, run)
        values = {"one": status.competitions[0], "now": now, "csrf": self.csrf, "board": board, "view": None}
        values["daemon"] = status.daemon
        if run is not None and outcome is not None:
            values |= _of_run(run_view(store, run, outcome, now), f"/competition/{slug}")
        return page(slug, _COMPETITION, values, (HOME,))

    def run(self, name: str) -> Page:
        """One replay, while it runs or afterwards."""
        folder, now = self.sources.run(name), datetime.now(UTC)
        files = [path.name for path in (folder.report, folder.submission) if path.is_file()]
        values: dict[str, Any] = {"name": name, "now": now, "files": files, "view": None, "problem": None}
        values |= {"status": run_status(folder, now), "graded": result_of(folder)}
        if not folder.database.is_file() or values["status"].status in ("not started", "unreadable"):
            return page(name, _REPLAY, values, (HOME,))
        try:
            store = self.sources.store(folder.database)
            run = _run(store, name)
            values |= _of_run(run_view(store, run, _outcome(folder, run), now), f"/run/{name}")
        except UsageError as error:
            # Another version of the bot made it: its result can still be read.
            values["problem"] = str(error)
        return page(name, _REPLAY, values, (HOME,))

    def node(self, place: Place, name: str, id: int) -> Page:
        """One node: its plan, script, error and what it printed."""
        store, run, outcome = self._opened(place, name)
        with store.read() as session:
            found = one_node(session, run, outcome, id)
            if found is None:
                raise UsageError(f"there is no node {id} in this run")

            def text(sha256: str | None) -> str:
                return "" if sha256 is None else read_blob(session, sha256).decode("utf-8", "replace")

            values = {
                "row": found.row,
                "code": shortened(text(found.code_sha), LONGEST_CODE),
                "log": ending(text(found.log_sha), LONGEST_LOG),
                "at": f"/{place}/{name}",
            }
        return page(f"Node {id}", ("node",), values, (HOME, (f"/{place}/{name}", name)))

    def lab(self, place: Place, name: str, id: int) -> Page:
        """One lab's whole conversation."""
        store, run, _ = self._opened(place, name)
        with store.read() as session:
            lab = session.get(Lab, (run.id, id))
            if lab is None:
                raise UsageError(f"there is no lab {id} in this run")
            values = {"lab": lab, "turns": turns_of(session, run.id, id, longest=LONGEST_TURN)}
        values["at"] = f"/{place}/{name}"
        return page(f"Lab {id}", ("lab",), values, (HOME, (f"/{place}/{name}", name)))

    def _opened(self, place: Place, name: str) -> tuple[Store, Run, Outcome]:
        if place == "run":
            folder = self.sources.run(name)
            store = self.sources.store(folder.database)
            run = _run(store, name)
            return store, run, _outcome(folder, run)
        store = self.sources.daemon()
        with store.read() as session:
            if (found := latest_runs(session).get(name)) is None:
                raise UsageError(f"there is no run on {name} yet")
            return store, found, _live(session, found)

    def _gpus(self) -> Sequence[dict[str, Any]]:
        return [
            {"gpu": one, "used": self.gpus.used_bytes(one.uuid), "busy": self.gpus.busy(one.uuid)}
            for one in self.gpus.all()
        ]


def _run(store: Store, name: str) -> Run:
    with store.read() as session:
        found = session.get(Run, name)
    if found is None:
        raise UsageError(f"the run {name} has not begun")
    return found


def _outcome(folder: RunFolder, run: Run) -> Outcome:
    return result_of(folder) or GoesOn(bool(lower_is_better(run.config)), live=False)


def _live(session: Any, run: Run) -> Outcome:
    """Return what is known of a live run's outcome: the public scores of its nodes."""
    public = {one.node: one.score for one in submissions_of(session, run.id) if one.score is not None}
    return GoesOn(bool(lower_is_better(run.config)), live=True, hidden_scores=public)


def _of_run(view: RunView, at: str) -> dict[str, Any]:
    """Return what the templates of a run's parts are given."""
    test = "public leaderboard" if view.outcome.live else "hidden test"
    return {
        "view": view,
        "tree": view.tree,
        "result": view.outcome,
        "test": test,
        "at": at,
        "node_address": f"{at}/node/",
    }
