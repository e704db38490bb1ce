"""The leaderboard watch on a served site, polled as a live one is: from before the first submission to the end."""

import hashlib

import pytest

from bot.leaderboard.rank import read_leaderboard
from bot.leaderboard.verdict import LeaderboardResult, entries_of
from bot.leaderboard.watch import TeamStanding, watch_board
from scrapers.kaggle.client import open_client
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.polling.poller import Poller
from scrapers.kaggle.polling.watch import Part
from scrapers.kaggle.settings import KaggleSection
from state.store import Store
from state.submissions import advance_submission, intend_submission
from tests.bot.simulator.site.conftest import here, snapshot
from tests.bot.simulator.site.parts import DEADLINE, truth_with
from tests.bot.submission.kaggle_site import AT_ONCE
from tests.scrapers.in_process import Here
from tests.state.rows import create_run
from tests.tiny_snapshot import SLUG

__all__ = ["here", "snapshot"]

PARTS: tuple[Part, ...] = ("competitions", "top", "board", "submissions")


async def test_from_before_the_first_submission_to_the_private_board(here, snapshot, tmp_path) -> None:
    section = KaggleSection(url=f"{here.client.url}/v1", pace=AT_ONCE)
    key = Credentials(here.site.settings.token)
    with Store.open(tmp_path / "bot.db", here.clock) as store:
        async with open_client(section, here.clock, Tally(), lambda: key) as client:
            poller = Poller(client, store, Here())

            async def look() -> TeamStanding:
                for part in PARTS:
                    await poller.poll(SLUG, part)
                found = watch_board(store, SLUG, snapshot.card.lower_is_better)
                assert found is not None
                return found

            before = await look()
            assert (before.rank, before.private) == (None, False)
            assert before.teams == len(here.competition.standings(here.clock.now(), private=False))

            with store.write() as tx:
                create_run(tx, "r", competition=SLUG, agent="aide", model="builtin", seed=0, cutoff=None)
            for wrong in (0.5, 0.2):
                content = truth_with(snapshot, wrong)
                with store.write() as tx:
                    sha = hashlib.sha256(content).hexdigest()
                    row = intend_submission(tx, "r", node=1, prediction_source="holdout", file_sha=sha)
                here.client.submit(content, row.tag)
                here.settle()
                with store.write() as tx:
                    advance_submission(tx, "r", row.id, "confirmed")
            during = await look()
            public = here.competition.standings(here.clock.now(), private=False)
            own = next(rank for rank, team in enumerate(public, 1) if team.id == here.competition.team_id)
            assert (during.rank, during.teams, during.private) == (own, len(public), False)
            assert during.score == pytest.approx(public[own - 1].public, abs=1e-5)

            here.clock.time = DEADLINE.replace(day=2)
            after = await look()
            private = here.competition.standings(here.clock.now(), private=True)
            own = next(rank for rank, team in enumerate(private, 1) if team.id == here.competition.team_id)
            assert (after.rank, after.teams, after.private) == (own, len(private), True)
            assert after.score == pytest.approx(private[own - 1].private, abs=1e-5)
            with store.read() as session:
                leaderboard = read_leaderboard(
                    session, SLUG, here.clock.now(), lower_is_better=snapshot.card.lower_is_better
                )
                report = LeaderboardResult(
                    "r", snapshot.card, entries_of(session, "r", leaderboard.submissions), leaderboard
                ).report()
            assert (report["score"], report["score_kind"], report["rank"]) == (after.score, "private", own)
            assert report["win_rate"] == (len(private) - own) / len(private)
