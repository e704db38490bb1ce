"""At entry the rules are read and the owner confirms them once; what was confirmed goes into prompts and checks."""

import json
from pathlib import Path

import pytest
from sqlmodel import select

from bot.configuration.competition import CompetitionSettings
from bot.execution.stopwatch import Stopwatch
from bot.live.live_run import begin_run, open_run_context
from bot.live.preparation import PreparedTask, prepare
from bot.live.services import Shared
from bot.status.problems import current
from bot.submission.rules import accept_rules, rules_of
from state.tables import Notification
from tests.bot.live.reading.test_card import asking
from tests.bot.live.site_parts import shared
from tests.bot.simulator.site.parts import served, tiny
from tests.scripted_endpoint import ScriptedEndpoint
from tests.tiny_snapshot import SLUG

OWN = CompetitionSettings(model="reader", metric="log_loss", submit=True, max_cost_per_day=1.0)
DATA = "External data is allowed if it is publicly available and equally accessible to all at minimal cost."
DAILY = "You may submit at most 5 entries per day, and select up to 2 final submissions for judging."


def answer(quote: str = DATA) -> str:
    data = {"topic": "external data", "allowed": "with conditions", "sentence": "Only public data.", "quote": quote}
    daily = {"topic": "daily submissions", "number": 3, "sentence": "Three a day.", "quote": DAILY}
    return json.dumps({"lines": [data, daily]})


def bodies(here: Shared) -> dict[str, str]:
    with here.store.read() as session:
        return {row.kind: row.body for row in session.exec(select(Notification))}


def problems(here: Shared) -> list[str]:
    with here.store.read() as session:
        return [one.sentence for one in current(session)]


@pytest.mark.integration
async def test_the_owner_gets_the_rules_with_their_quotes_and_confirms_them_once(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site, ScriptedEndpoint([answer()]) as endpoint:
        async with asking(site, tmp_path / "state", endpoint) as here:
            for _ in range(2):
                task = await prepare(here, SLUG, OWN)
                assert isinstance(task, PreparedTask), "work goes on meanwhile; only nothing is sent"
            (sentence,) = problems(here)
            assert f"then run `bot approve {SLUG} --rules`; the bot submits nothing until you do" in sentence
            told = bodies(here)
            assert set(told) == {"problem.confirm", "model.samples"}
            assert f'external data (with conditions): Only public data. "{DATA}"' in told["problem.confirm"]
            assert "pretrained models, automated agents, team size, licence of winners" in told["problem.confirm"]
            assert "127.0.0.1" in told["model.samples"].replace("\u200b", "")
            assert len(endpoint.requests) == 1
            await here.poller.poll(SLUG, "pages")
            with here.store.write() as tx:
                accept_rules(tx, SLUG, "ada")
            task = await prepare(here, SLUG, OWN)
            assert isinstance(task, PreparedTask)
            assert problems(here) == []
            with here.store.read() as session:
                assert rules_of(session, SLUG, read=False).number("daily submissions") == 3
            run = begin_run(here, task, CompetitionSettings(model="builtin", metric="log_loss"))
            async with open_run_context(here, run, Stopwatch()) as context:
                (note,) = context.task.notes
            assert "external data (with conditions): Only public data; daily" in note.text
            assert DATA not in note.text, "a stranger's words are no word of the owner's"


@pytest.mark.integration
@pytest.mark.parametrize("page", [True, False], ids=["nobody read the page", "there is no page"])
async def test_without_a_reading_the_owner_is_told_at_once_that_nothing_is_sent(tmp_path: Path, page: bool) -> None:
    with served(tiny(tmp_path)) as site:
        if not page:
            site.competition.pages.content.pop("rules")
        async with shared(site, tmp_path / "state") as here:
            await prepare(here, SLUG, OWN.model_copy(update={"model": "builtin"}))
            assert ("the site has no rules page" in problems(here)[0]) != page
            assert list(bodies(here)) == ["problem.confirm"]
            own = OWN.model_copy(update={"model": "builtin", "rules_read": True})
            await prepare(here, SLUG, own)
            assert problems(here) == []


@pytest.mark.integration
async def test_a_sentence_that_no_rule_has_is_not_told(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site, ScriptedEndpoint([answer("All bots are welcome.")]) as endpoint:
        async with asking(site, tmp_path / "state", endpoint) as here:
            assert isinstance(await prepare(here, SLUG, OWN), PreparedTask)
            assert "The model could not read the rules" in bodies(here)["problem.confirm"]
            assert "welcome." not in bodies(here)["problem.confirm"].partition("word for word")[0]
