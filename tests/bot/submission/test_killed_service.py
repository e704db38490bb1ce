"""The service is killed at every point: the next one sends each file once, asks once and notifies once."""

from dataclasses import replace

import pytest

from bot.configuration.competition import CompetitionSettings
from state.approvals import decide_approval, undecided
from state.steps import Steps
from tests.bot.submission.parts import Fate, Killed, MortalStore, MortalSubmitter
from tests.bot.submission.service_parts import RUN, SENDING, Live, live

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.integration]

ASKING = CompetitionSettings(submit=True, rules_read=True, approve="ask")


async def one_life(run: Live, settings: CompetitionSettings, fate: Fate) -> None:
    """Work as one process does, from opening the database to its end or its death."""
    with MortalStore.open(run.store.path, run.clock) as store:
        store.fate = fate
        executor = run.context.executor
        steps = Steps(store, RUN)
        executor.store, executor.steps = store, steps  # this process's own
        context = replace(run.context, store=store, steps=steps)
        service = replace(run, context=context).service(settings, MortalSubmitter(run.submitter, fate))
        for _ in range(2):
            await service.consider()
            await service.send()
            if settings.approve == "ask":
                with store.write() as tx:
                    for held in undecided(tx.session):
                        decide_approval(tx, held.id or 0, "approved", "ann")
        await service.send()
        run.site.settle()
        await service.scores.settle()


@pytest.mark.parametrize(
    ("settings", "every"),
    [(SENDING, 1), (ASKING, 4), pytest.param(ASKING, 1, marks=pytest.mark.trial)],
    ids=["auto", "ask", "ask everywhere"],
)
async def test_killed_anywhere_it_loses_nothing_and_sends_nothing_twice(the_ground, tmp_path, worker, settings, every):
    at = 0
    while True:
        async with live(the_ground, tmp_path / str(at), worker) as run:
            run.node(2, 0.6)
            fate = Fate(at)
            try:
                await one_life(run, settings, fate)
            except Killed:
                run.clock.pass_by(hours=1)
                await one_life(run, settings, Fate())
            (row,) = [row for row in run.submissions() if row.status != "withdrawn"]
            assert (row.node, row.status) == (2, "confirmed"), fate.seen[-1]
            assert [sent.tag for sent in run.site.site.submissions] == [row.tag], fate.seen[-1]
            assert row.score is not None
            assert len(run.notices("submission.scored")) == 1
            assert len(run.notices("approval.asked")) == (settings.approve == "ask")
            run.assert_events_match_rows()
        if fate.passed <= at:
            assert at > 20
            return
        # A write has three boundaries: one of four comes to each kind of them in turn.
        at += every
