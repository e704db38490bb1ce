"""Expiry: what was collected for competitions that ended long ago goes by itself."""

from collections.abc import Mapping
from datetime import datetime

from bot.configuration.competition import CompetitionSettings
from bot.status.outside import deadline
from bot.status.work import live_runs
from state.retention import Pruned, prune_expired
from state.series import last_of_each
from state.store import Store

__all__ = ["prune_ended"]


def prune_ended(
    store: Store, configured: Mapping[str, CompetitionSettings], keep_days: float, now: datetime
) -> list[Pruned]:
    """Remove the communities of competitions that ended more than `keep_days` ago; see `state.retention`.

    Of a competition whose end is not known nothing goes. Where there is something to remove it takes as long as writing
    the database anew: call it in a thread. Raises as `prune_community`.

    Args:
        store: the daemon's database.
        configured: the competitions of bot.toml, which may name a deadline.
        keep_days: after the deadline.
        now: the daemon's time.
    """
    with store.read() as session:
        runs = live_runs(session)
        slugs = {*configured, *runs, *(slug for slug, _ in last_of_each(session, None, "competition"))}
        ends = {slug: deadline(session, slug, configured.get(slug), runs.get(slug)) for slug in slugs}
    return prune_expired(store, {slug: end for slug, end in ends.items() if end is not None}, keep_days, now)
