"""Each kind of competition, served by the stand-in, gets its sentence from the doctor before and from the daemon once."""

import re
from pathlib import Path
from typing import get_args

import pytest
from sqlmodel import select

from bot.configuration.competition import CompetitionSettings
from bot.doctor.kaggle import check_kaggle
from bot.live.kinds import NO_ROOM, SENTENCES, in_words
from bot.live.preparation import PreparationBlocker, PreparedTask, prepare
from bot.simulator.site.settings import CompetitionKind, SiteSettings
from bot.status.problems import current
from scrapers.kaggle.kinds import DetectedKind, KindName
from scrapers.kaggle.settings import KaggleSection
from scrapers.snapshots.snapshot import Snapshot
from state.tables import Notification
from tests.bot.live.site_parts import shared
from tests.bot.simulator.site.parts import START, HandClock, served, tiny
from tests.bot.submission.kaggle_site import AT_ONCE
from tests.tiny_snapshot import SLUG

PAGE = Path(__file__).parents[3] / "docs" / "kaggle.md"
OWN = CompetitionSettings(model="builtin", metric="log_loss")
REFUSED: tuple[KindName, ...] = ("simulation", "agents", "models", "hackathon", "judged", "huge-data")


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return tiny(tmp_path_factory.mktemp("kinds"))


def beginning(kind: KindName) -> str:
    """Return a kind's sentence up to the figures of this machine."""
    return (NO_ROOM if kind == "huge-data" else SENTENCES[kind]).partition("{")[0]


@pytest.mark.parametrize("kind", REFUSED)
async def test_a_kind_that_is_not_worked_on_is_said_once_and_nothing_is_fetched(kind, snapshot, tmp_path) -> None:
    with served(snapshot, SiteSettings(kind=kind)) as site:
        async with shared(site, tmp_path / "state") as here:
            for _ in range(2):
                found = await prepare(here, SLUG, OWN)
                assert isinstance(found, PreparationBlocker)
                assert found.reason.startswith(f"{SLUG} {beginning(kind)}")
            assert not any(name.startswith("Download") for name in site.site.requests)
            with here.store.read() as session:
                (notice,) = session.exec(select(Notification))
                assert [one.key for one in current(session)] == [f"kind/{SLUG}"]
            assert notice.kind == "competition.kind"
            assert beginning(kind) in notice.body
            assert 'kind = "csv"' in notice.body


async def test_what_the_owner_says_goes_before_what_was_recognised(snapshot: Snapshot, tmp_path: Path) -> None:
    own = CompetitionSettings(model="builtin", kind="csv", metric="log_loss", direction="minimize")
    with served(snapshot, SiteSettings(kind="judged")) as site:
        async with shared(site, tmp_path / "state") as here:
            assert isinstance(await prepare(here, SLUG, OWN), PreparationBlocker)
            assert isinstance(await prepare(here, SLUG, own), PreparedTask)
            with here.store.read() as session:
                assert current(session) == []


@pytest.mark.integration
async def test_two_stages_are_worked_on_and_said_once(snapshot: Snapshot, tmp_path: Path) -> None:
    with served(snapshot, SiteSettings(kind="two-stages")) as site:
        async with shared(site, tmp_path / "state") as here:
            for _ in range(2):
                assert isinstance(await prepare(here, SLUG, OWN), PreparedTask)
            with here.store.read() as session:
                (notice,) = session.exec(select(Notification))
            assert beginning("two-stages") in notice.body


@pytest.mark.integration
async def test_data_that_is_here_already_is_never_too_large(snapshot: Snapshot, tmp_path: Path) -> None:
    with served(snapshot) as site:
        async with shared(site, tmp_path / "state") as here:
            assert isinstance(await prepare(here, SLUG, OWN), PreparedTask)
            site.competition.sizes = dict.fromkeys(site.competition.sizes, 10**15)
            assert isinstance(await prepare(here, SLUG, OWN), PreparedTask)


@pytest.mark.parametrize("kind", get_args(CompetitionKind))
def test_the_doctor_says_it_before(kind, snapshot, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAGGLE_API_TOKEN", SiteSettings().token)
    with served(snapshot, SiteSettings(kind=kind)) as site:
        section = KaggleSection(url=f"{site.client.url}/v1", pace=AT_ONCE)
        _, found = check_kaggle(
            section, {SLUG: CompetitionSettings(metric="log_loss")}, HandClock(START), state=tmp_path
        )
        assert not any(name.startswith("Download") for name in site.site.requests)
    assert found.status == ("warning" if kind in REFUSED else "ok"), found
    if kind != "files":
        assert f"it {beginning(kind)}" in found.result


def test_room_for_huge_data_decides_whether_it_is_worked_on() -> None:
    found = DetectedKind("huge-data", "x", 80_000_000_000)
    assert in_words(found, 79_000_000_000).sentence == NO_ROOM.format(size=80, free=79)
    for free in (None, 80_000_000_000):
        kind = in_words(found, free)
        assert (kind.worked_on, kind.sentence) == (True, SENTENCES["huge-data"].format(size=80))


def test_the_documentation_has_every_kind_with_its_sentence() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| … (.*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    expected = [(name, one.format(size="80", free="60")) for name, one in SENTENCES.items()]
    assert rows == [*expected, ("huge-data", NO_ROOM.format(size="80", free="60"))]
    assert set(get_args(CompetitionKind)) == {"files", *get_args(KindName)} == {"files", *SENTENCES}
