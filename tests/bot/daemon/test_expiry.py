"""What was collected for a competition goes some time after its end, whatever states it."""

from datetime import timedelta

from bot.configuration.competition import CompetitionSettings
from bot.daemon.tasks import prune_ended
from bot.status.accounts import Allowance
from state.community_rows import add_community
from state.progress import end_run
from state.retention import prunable
from state.series import take_reading
from state.store import Store
from state.tables import Topic
from tests.state.conftest import START, StandingClock, clock, store
from tests.state.rows import create_run

__all__ = ["clock", "store"]


def collect(store: Store, name: str) -> None:
    with store.write() as tx:
        add_community(tx, name, [Topic(competition=name, id="1", title="Folds", posted_at=START)])


def removed(store: Store, **configured: CompetitionSettings) -> list[str]:
    return [one.competition for one in prune_ended(store, Allowance(competitions=configured), 90.0, START)]


def test_the_end_is_the_owners_the_sites_or_the_runs(store: Store, clock: StandingClock) -> None:
    long_ago, lately = START - timedelta(days=91), START - timedelta(days=89)
    for name in ("owners", "sites", "runs", "lately", "endless"):
        collect(store, name)
    with store.write() as tx:
        take_reading(tx, "sites", "competition", "", {"deadline": long_ago.isoformat()})
        take_reading(tx, "lately", "competition", "", {"deadline": lately.isoformat()})
        card = {"card": {"deadline": long_ago.isoformat()}}
        create_run(tx, "r", competition="runs", agent="aide", model="m", seed=0, cutoff=None, config=card)
    own = CompetitionSettings(deadline=long_ago)
    assert removed(store, owners=own) == ["owners", "sites"]
    with store.write() as tx:
        end_run(tx, "r", "finished")
    assert removed(store, owners=own) == ["runs"], "as soon as its run has ended"
    assert prunable(store, "lately").posts == prunable(store, "endless").posts == 1


def test_what_is_read_again_of_one_that_is_gone_makes_no_work(store: Store) -> None:
    collect(store, "old")
    ended = {"deadline": (START - timedelta(days=91)).isoformat()}
    for expected in (["old"], []):
        with store.write() as tx:
            take_reading(tx, "old", "competition", "", ended)
        assert removed(store) == expected
