"""Competitions, pages and boards: one reading for each change."""

import json
from typing import Any

from scrapers.kaggle.polling.poller import Poller
from state.series import history, last_reading, rules_hash
from state.store import Store
from tests.scrapers.kaggle.parts import answer
from tests.scrapers.kaggle.polling.world import SLUG, World


def competition(slug: str, **more: Any) -> dict[str, Any]:
    deadline = {"deadline": "2026-12-31T23:59:00Z", "userHasEntered": True}
    return {"ref": f"https://www.kaggle.com/competitions/{slug}", "title": slug.title(), **deadline, **more}


async def test_a_new_deadline_is_a_change_and_the_old_one_is_kept(world: World, store: Store, poller: Poller) -> None:
    world.competitions = [competition("leaf", teamCount=10), competition("rock")]
    assert (await poller.poll(SLUG, "competitions")).ids("competition new") == ["leaf", "rock"]
    world.competitions[0] |= {"teamCount": 11}
    assert not await poller.poll(SLUG, "competitions")
    world.competitions[0] |= {"deadline": "2027-01-07T23:59:00Z"}
    assert (await poller.poll(SLUG, "competitions")).ids("competition changed") == ["leaf"]
    with store.read() as session:
        kept = [row.data["deadline"] for row in history(session, "leaf", "competition")]
        assert kept == ["2026-12-31T23:59:00Z", "2027-01-07T23:59:00Z"]
        assert [row.data["team_count"] for row in history(session, "leaf", "standing")] == [10, 11]


async def test_a_competition_that_vanished_is_gone_and_may_come_back(world, store, poller) -> None:
    world.competitions = [competition("leaf"), competition("rock")]
    await poller.poll(SLUG, "competitions")
    world.competitions.pop()
    assert (await poller.poll(SLUG, "competitions")).ids("competition gone") == ["rock"]
    world.competitions.append(competition("rock"))
    assert (await poller.poll(SLUG, "competitions")).ids("competition new") == ["rock"]


async def test_another_summary_of_the_data_is_a_change_and_an_empty_one_is_not(world, store, poller) -> None:
    assert (await poller.poll(SLUG, "data")).ids("data changed") == [SLUG]
    assert not await poller.poll(SLUG, "data")
    world.data[".csv"] += 1
    assert await poller.poll(SLUG, "data")
    world.data.clear()
    assert not await poller.poll(SLUG, "data")
    with store.read() as session:
        kept = [row.data["types"] for row in history(session, SLUG, "data")]
    assert kept == [{".csv": [2, 1_000]}, {".csv": [2, 1_001]}]


async def test_a_change_of_the_rules_changes_their_hash_from_then_on(world, store, poller) -> None:
    assert (await poller.poll(SLUG, "pages")).ids("page changed") == ["rules", "evaluation"]
    before, at = rules_hash(store, SLUG, world.clock.now()), world.clock.now()
    assert before is not None
    world.clock.advance(60)
    assert not await poller.poll(SLUG, "pages")
    world.pages["rules"] = "Be very nice."
    assert (await poller.poll(SLUG, "pages")).ids("page changed") == ["rules"]
    assert rules_hash(store, SLUG, world.clock.now()) not in (None, before)
    assert rules_hash(store, SLUG, at) == before
    del world.pages["rules"]
    await poller.poll(SLUG, "pages")
    assert rules_hash(store, SLUG, world.clock.now()) is None


async def test_an_answer_without_any_page_takes_none_away(world: World, store: Store, poller: Poller) -> None:
    await poller.poll(SLUG, "pages")
    world.bad["ListCompetitionPages"] = [answer({})]
    assert not await poller.poll(SLUG, "pages")


async def test_boards_are_series_without_repetitions(world: World, store: Store, poller: Poller) -> None:
    for part in ("top", "board", "top", "board"):
        await poller.poll(SLUG, part)
    world.board.insert(0, (3, "cem", 0.4))
    world.clock.advance(60)
    for part in ("top", "board"):
        assert (await poller.poll(SLUG, part)).ids("board changed") == ["whole" if part == "board" else "top"]
    with store.read() as session:
        top, whole = history(session, SLUG, "board", "top"), history(session, SLUG, "board", "whole")
        newest = last_reading(session, SLUG, "board", "whole")
    assert [row.data for row in top] == [{"teams": 2, "direction": "minimize"}, {"teams": 3, "direction": "minimize"}]
    assert [row.data for row in whole] == [{"teams": 2}, {"teams": 3}]
    assert newest is not None and newest.at == world.clock.now()
    rows = json.loads(store.blob(newest.sha256 or ""))
    assert rows[0] == {"rank": 1, "team_id": "3", "team": "cem", "score": 0.4, "submissions": 1}
    assert json.loads(store.blob(top[0].sha256 or ""))[1]["team"] == "bob"


async def test_a_competition_that_the_list_left_out_is_not_taken_for_gone(world, store, poller) -> None:
    world.competitions = [competition("leaf", id=1, title="Leaf Classification", userHasEntered=False)]
    world.competitions[0].pop("deadline")
    await poller.poll(SLUG, "competitions")
    world.competitions = []
    assert not (await poller.poll(SLUG, "competitions")).ids("competition gone")
    assert world.methods()[-1] == "GetCompetition"
