"""A live run that has ended: its rows among others' in one database, its services, and what polls have stored."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.engine.budget import RunBudget
from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.leaderboard.rank import read_leaderboard
from bot.leaderboard.verdict import LeaderboardResult, entries_of
from bot.live.grading import grade_live_run
from bot.report.result import RunResult, read_result
from bot.report.run_files import EndedRun
from sandbox.process import ProcessSandbox
from scrapers.snapshots.card import MetricSpec, TaskCard
from state.community import CommunityView
from state.store import Store
from state.submissions import advance_submission, intend_submission
from tests.bot.leaderboard.boards import SLUG, Polls
from tests.bot.report.finished_runs import RUN, FakeRun, fill
from tests.bot.submission.service_parts import run_context
from tests.state.conftest import START, StandingClock

DEADLINE = START + timedelta(days=90)


@dataclass
class LiveRun:
    """One that may be finished again and again."""

    ended: EndedRun
    files: Path
    worker: Worker
    clock: StandingClock
    polls: Polls
    scores: dict[int, float]
    """Validation scores by node."""

    @property
    def folder(self) -> RunFolder:
        return self.ended.folder

    def send(self, node: int, *, how: str = "refit", content: str | None = None) -> tuple[str, str]:
        """Hand in a node's file, which the site then has; returns its reference and its tag."""
        body = (content or f"id,label\nnode,{node}\n").encode()
        sha = hashlib.sha256(body).hexdigest()
        (self.files / f"{sha}.csv").write_bytes(body)
        store = self.ended.context.store
        with store.write() as tx:
            row = intend_submission(tx, RUN, node=node, prediction_source=how, file_sha=sha)
            for status in ("sending", "confirmed"):
                row = advance_submission(tx, RUN, row.id, status, ref=f"40{row.id}")  # type: ignore[arg-type]
        self.clock.pass_by(3600)
        assert row.ref is not None
        return row.ref, row.tag

    def verdict(self) -> LeaderboardResult:
        """Return the leaderboard's verdict now, without any file."""
        context = self.ended.context
        with context.store.read() as session:
            leaderboard = read_leaderboard(
                session, SLUG, self.clock.now(), lower_is_better=context.card.lower_is_better
            )
            return LeaderboardResult(
                RUN, context.card, entries_of(session, RUN, leaderboard.submissions if leaderboard else ()), leaderboard
            )

    async def finish(self) -> RunResult:
        result = await grade_live_run(self.ended, self.files, self.worker)
        assert result.report_error is None
        assert read_result(self.folder) == result
        return result


def card(run: FakeRun) -> TaskCard:
    return TaskCard(
        slug=SLUG,
        title="Wine, live",
        category="tabular",
        description="# Wine",
        metric=MetricSpec(name="log_loss", direction="minimize" if run.lower_is_better else "maximize"),
        id_column="id",
        prediction_columns=("label",),
        enabled_at=START,
        deadline=DEADLINE,
    )


@contextmanager
def live_run(place: Path, worker: Worker, run: FakeRun | None = None) -> Iterator[LiveRun]:
    """Make the daemon's folder with one run in it."""
    run = run or FakeRun(live=True)
    folder, files, locks = RunFolder(place / "runs" / RUN, place / "bot.db"), place / "submissions", place / "locks"
    folder.make()
    for path in (files, locks):
        path.mkdir()
    config = {"run_id": RUN, "competition": SLUG, "live": True, "card": card(run).model_dump(mode="json")}
    folder.config.write_text(json.dumps({**config, "settings": {"agent": "comind"}}))
    clock = StandingClock(datetime(2020, 1, 2, tzinfo=UTC))
    with Store.open(folder.database, clock) as store:
        scores = fill(store, clock, run)
        plain = run_context(card(run), folder, locks, store, worker, None, place / "data", RUN)
        stopwatch = plain.executor.stopwatch
        context = replace(
            plain,
            model_name="builtin",
            budget=RunBudget(stopwatch, 1e6, None),
            community_at=(lambda as_of: CommunityView(store, SLUG, as_of)) if run.community else None,
        )
        described = ProcessSandbox().describe()
        ended = EndedRun(folder, context, described, stopwatch, "finished", "the competition is over")
        polls = Polls(store)
        polls.deadline(DEADLINE)
        yield LiveRun(ended, files, worker, clock, polls, scores)
