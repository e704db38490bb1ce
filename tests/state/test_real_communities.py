"""The snapshots' communities under their deadlines: canaries stay unseen, and all has its reading."""

from pathlib import Path

import pytest

from scrapers.snapshots.snapshot import Snapshot
from state.community import CommunityView
from state.community_rows import add_community
from state.store import Store
from tests.needs import snapshots
from tests.scrapers.in_process import rows_of

METRICS = {
    "log_loss": "minimize",
    "mean_columnwise_rmsle": "minimize",
    "rmsle": "minimize",
    "rmse": "minimize",
    "roc_auc": "maximize",
}


@pytest.mark.parametrize("slug", ["spooky-author-identification", "leaf-classification"])
async def test_a_real_snapshot_shows_its_deadlines_knowledge_and_no_canary(store: Store, slug: str) -> None:
    folder: Path = snapshots() / slug
    snapshot = Snapshot.load(folder, METRICS)  # type: ignore[arg-type]  # literals in a plain dict
    rows = await rows_of(snapshot)
    with store.write() as tx:
        add_community(tx, slug, rows)
    card = snapshot.card
    seen = CommunityView(store, slug, card.deadline).posts()
    text = "\n".join(f"{post.title}\n{post.text}" for post in seen)
    assert len(seen) > 50
    assert f"CANARY-AFTER-DEADLINE-{slug}" not in text
    assert f"CANARY-LATE-REPLY-{slug}" not in text
    assert all(post.time <= card.deadline and post.votes is not None for post in seen)
    assert CommunityView(store, slug, card.enabled_at).posts() == []
    later = "\n".join(post.text for post in CommunityView(store, slug, card.deadline.replace(year=2100)).posts())
    assert f"CANARY-AFTER-DEADLINE-{slug}" in later
    assert f"CANARY-LATE-REPLY-{slug}" in later
