"""The hands: each form does what its command does, is recorded as the owner's act, and refuses what the command refuses."""

from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from bs4 import BeautifulSoup
from sqlmodel import Session, col, select

from bot.live.reading.proposals import CardProposal, confirmed, propose
from bot.status.problems import begin
from bot.submission.rules import RuleLine, note_reading, rules_of, to_confirm
from state.series import take_reading
from state.steering import control, notes
from state.submissions import chosen_final
from state.tables import Approval, Event
from tests.bot.status.parts import NOMAD, NOW, RUN, SPOOKY
from tests.bot.web.conftest import HOST, KEYS, reopened

BY = "ada (page)"
LATER = NOW + timedelta(days=3_650)
"""Orders are given by the daemon's clock, which here is the machine's."""


async def send(owner: httpx2.AsyncClient, act: str, **fields: str) -> httpx2.Response:
    back = f"/competition/{fields.get('competition', SPOOKY)}"
    return await owner.post(f"/act/{act}", data={"csrf": KEYS.csrf, "back": back, **fields}, headers={"Origin": HOST})


def last_event(session: Session, kind: str) -> Event:
    return session.exec(select(Event).where(Event.type == kind).order_by(col(Event.id).desc())).first() or Event()


async def test_a_note_is_kept_as_the_owners_and_shown_where_it_was_left(
    owner: httpx2.AsyncClient, folder: Path
) -> None:
    answer = await send(owner, "note", competition=SPOOKY, text="try <b>letters</b>")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/competition/{SPOOKY}")
    with reopened(folder) as store, store.read() as session:
        kept = notes(session, SPOOKY, LATER)[-1]
        assert (kept.text, kept.by) == ("try <b>letters</b>", BY)
        assert last_event(session, "note.added").data["by"] == BY
    assert "try &lt;b&gt;letters&lt;/b&gt;" in (await owner.get(f"/competition/{SPOOKY}")).text


async def test_a_note_with_a_key_is_refused_without_repeating_it(owner: httpx2.AsyncClient, folder: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4" * 6
    answer = await send(owner, "note", competition=SPOOKY, text=f"use {key}")
    assert answer.status_code == 400 and key not in answer.text
    with reopened(folder) as store, store.read() as session:
        assert len(notes(session, SPOOKY, LATER)) == 2


@pytest.mark.parametrize("state", ["paused", "stopped"])
async def test_a_competition_is_paused_or_stopped_and_goes_on(
    owner: httpx2.AsyncClient, folder: Path, state: str
) -> None:
    for asked in (state, "running"):
        assert (await send(owner, "control", competition=NOMAD, state=asked)).status_code == 303
        with reopened(folder) as store, store.read() as session:
            assert control(session, NOMAD) == asked
            assert last_event(session, "control.changed").data["by"] == BY


@pytest.mark.integration
@pytest.mark.parametrize("verdict", ["approved", "refused"])
async def test_a_held_submission_is_decided_on_by_the_buttons_of_its_page(
    owner: httpx2.AsyncClient, folder: Path, verdict: str
) -> None:
    page = BeautifulSoup((await owner.get(f"/competition/{SPOOKY}")).text, "html.parser")
    form = page.select_one("form[action='/act/approve']")
    assert form is not None
    fields = {str(one["name"]): str(one["value"]) for one in form.select("input")}
    assert {str(one["value"]) for one in form.select("button")} == {"approved", "refused"}
    answer = await owner.post("/act/approve", data={**fields, "verdict": verdict}, headers={"Origin": HOST})
    assert answer.headers["location"] == f"/competition/{SPOOKY}"
    with reopened(folder) as store, store.read() as session:
        row = session.exec(select(Approval)).one()
        assert (row.decision, row.by) == (verdict, BY)
    other = {"approved": "refused", "refused": "approved"}[verdict]
    assert f"was already {verdict}" in (await send(owner, "approve", id="1", verdict=other)).text


LINE = RuleLine(topic="team size", number=5, sentence="teams of five", quote="The maximum team size is 5.")
CARD = CardProposal(values={"metric": "log_loss"}, quotes=("Submissions are scored by log loss.",), reader="gpt")


@pytest.mark.parametrize(
    ("kind", "words", "address"),
    [
        ("rules", ["team size (5): teams of five", LINE.quote], f"https://www.kaggle.com/competitions/{NOMAD}/rules"),
        (
            "task",
            ['metric = "log_loss"', CARD.quotes[0]],
            f"https://www.kaggle.com/competitions/{NOMAD}/overview/evaluation",
        ),
    ],
)
async def test_a_question_is_shown_with_its_evidence_and_answered_by_a_click(
    owner: httpx2.AsyncClient, folder: Path, kind: str, words: list[str], address: str
) -> None:
    with reopened(folder) as store, store.write() as tx:
        take_reading(tx, NOMAD, "page", "rules", {}, content="Five at most.")
        note_reading(tx, NOMAD, (LINE,))
        propose(tx, NOMAD, CARD)
        begin(tx, to_confirm(NOMAD) if kind == "rules" else f"card/{NOMAD}", "confirm it")
    page = BeautifulSoup((await owner.get(f"/competition/{NOMAD}")).text, "html.parser")
    form = page.select_one(f"form[action='/act/{kind}']")
    assert form is not None and form.parent is not None
    assert all(word in form.parent.get_text() for word in words)
    assert [str(link["href"]) for link in form.parent.select("a")] == [address]
    fields = {str(one["name"]): str(one["value"]) for one in form.select("input")}
    assert (await owner.post(f"/act/{kind}", data=fields, headers={"Origin": HOST})).status_code == 303
    with reopened(folder) as store, store.read() as session:
        if kind == "rules":
            assert rules_of(session, NOMAD, read=False).lines == (LINE,)
        else:
            assert confirmed(session, NOMAD) == CARD
        assert last_event(session, "rules.accepted" if kind == "rules" else "card.confirmed").data["by"] == BY
    assert f"/act/{kind}" not in (await owner.get(f"/competition/{NOMAD}")).text, "it is asked no more"


BETTER = {"higher is better": {"direction": "maximize"}, "lower is better": {"direction": "minimize"}}
METRICS = {name: {"metric": name} for name in ("log_loss", "mae", "rmse")}


@pytest.mark.parametrize(
    ("choices", "field", "choice"), [(BETTER, "button[name=choice]", "lower is better"), (METRICS, "option", "rmse")]
)
async def test_a_question_without_a_proposal_is_answered_by_a_choice(
    owner: httpx2.AsyncClient, folder: Path, choices: dict[str, dict[str, str]], field: str, choice: str
) -> None:
    question = CardProposal(values={}, reader="", note="the leaderboard is empty", choices=choices)
    with reopened(folder) as store, store.write() as tx:
        propose(tx, NOMAD, question)
        begin(tx, f"card/{NOMAD}", "add a line")
    page = BeautifulSoup((await owner.get(f"/competition/{NOMAD}")).text, "html.parser")
    (form,) = page.select("form[action='/act/task']")
    assert form.parent is not None and "The leaderboard is empty." in form.parent.get_text()
    assert [*choices] == [value for one in form.select(field) if (value := one.get("value", one.get_text()))]
    assert (await send(owner, "task", competition=NOMAD, choice="other")).status_code == 400
    assert (await send(owner, "task", competition=NOMAD, choice=choice)).status_code == 303
    with reopened(folder) as store, store.read() as session:
        answer = confirmed(session, NOMAD)
    assert answer is not None and (answer.values, answer.reader) == (choices[choice], BY)
    assert "/act/task" not in (await owner.get(f"/competition/{NOMAD}")).text


@pytest.mark.integration
async def test_what_is_to_count_in_the_end_is_chosen_and_shown(owner: httpx2.AsyncClient, folder: Path) -> None:
    for fields, chosen in (
        ({"first": "t2", "second": "t1"}, ("t2", "t1")),
        ({"first": "", "second": "t1"}, ("t1",)),
        ({}, ()),
    ):
        assert (await send(owner, "final", competition=SPOOKY, **fields)).status_code == 303
        with reopened(folder) as store, store.read() as session:
            assert chosen_final(session, RUN) == chosen
            assert last_event(session, "selection.chosen").data["by"] == BY
        page = BeautifulSoup((await owner.get(f"/competition/{SPOOKY}")).text, "html.parser")
        assert tuple(str(one["value"]) for one in page.select("option[selected]")) == chosen


@pytest.mark.parametrize(
    ("act", "fields", "why"),
    [
        ("note", {"competition": SPOOKY, "text": " "}, "missing field in the form: text"),
        ("note", {"competition": SPOOKY, "text": "x" * 4_001}, "the limit is 4000"),
        ("note", {"competition": "titanic", "text": "x"}, "titanic is not configured in bot.toml"),
        ("control", {"competition": SPOOKY, "state": "gone"}, "state must be one of"),
        ("control", {"state": "paused"}, "missing field in the form: competition"),
        ("approve", {"id": "9", "verdict": "approved"}, "no submission 9 is waiting"),
        ("approve", {"id": "1", "verdict": "expired"}, "verdict must be one of"),
        ("submit", {}, "unknown action: submit"),
        ("final", {"competition": SPOOKY, "first": "t3"}, "this run has no submission t3 that Kaggle accepted"),
        ("final", {"competition": NOMAD, "first": "t1"}, "no run on"),
    ],
)
async def test_what_cannot_be_done_is_refused_in_one_sentence(
    owner: httpx2.AsyncClient, act: str, fields: dict[str, str], why: str
) -> None:
    answer = await send(owner, act, **fields)
    assert answer.status_code == 400 and why in answer.text


@pytest.mark.parametrize(
    "back", ["https://evil.example", "//evil.example", "/\\evil.example", "/competition/\\..//evil"]
)
async def test_a_form_leads_back_to_a_page_of_ours_only(owner: httpx2.AsyncClient, back: str) -> None:
    answer = await send(owner, "note", competition=SPOOKY, text="x", back=back)
    assert answer.headers["location"] == "/"
