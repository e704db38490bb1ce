"""`bot probe`: eighteen requests at most that change nothing, a verdict for each, and a folder without names."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli.app import app
from bot.live.kinds import SENTENCES
from bot.simulator.probe.checks import POINTS, judge
from bot.simulator.probe.exchange import read_exchanges
from bot.simulator.site.settings import CompetitionKind, SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from state.errors import BotError
from tests.bot.simulator.site.parts import Served, served, tiny

READS = ("Get", "List", "Download")


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return tiny(tmp_path_factory.mktemp("probe"))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in ("KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAGGLE_API_TOKEN", SiteSettings().token)
    monkeypatch.chdir(tmp_path)
    yield


def probed(site: Served, *options: str) -> tuple[int, str]:
    pace = "[kaggle.pace]\nper_minute = 1e6\nmin_interval = 0.0\n"
    Path("bot.toml").write_text(f'[kaggle]\nurl = "{site.client.url}/v1"\n{pace}')
    result = CliRunner().invoke(app, ["probe", *options])
    failed = isinstance(result.exception, BotError)
    return (2, str(result.exception)) if failed else (result.exit_code, result.stdout)


def test_it_asks_little_changes_nothing_and_leaves_no_name_and_no_key(snapshot: Snapshot, tmp_path: Path) -> None:
    with served(snapshot) as site:
        code, output = probed(site, site.competition.slug, "--json")
        assert sum(site.site.requests.values()) <= 18
        assert all(name.startswith(READS) for name in site.site.requests), site.site.requests
    found = json.loads(output)
    folder = tmp_path / f"probe-{site.competition.slug}"
    assert (code, found["requests"], found["folder"]) == (0, 18, folder.name)
    assert [one["point"] for one in found["points"]] == [one.name for one in POINTS]
    assert {one["verdict"] for one in found["points"]} == {"OK", "could not tell"}
    before = sum(site.site.requests.values())
    assert probed(site, site.competition.slug, "--json") == (0, output), "a second time the folder is judged"
    assert sum(site.site.requests.values()) == before
    kept = read_exchanges(folder)
    assert [finding.verdict for _, finding in judge(kept)] == [one["verdict"] for one in found["points"]]
    text = "".join(file.read_text() for file in folder.iterdir())
    assert SiteSettings().token not in text
    authors = {row.author for row in snapshot.community.messages} | {row.author for row in snapshot.community.kernels}
    assert authors - {None}
    assert not any(f'"{author}"' in text for author in authors if author)


def test_where_kaggle_differs_it_says_so_first_and_exits_with_1(snapshot: Snapshot) -> None:
    settings = SiteSettings(opening_post="left out", downloads="address")
    with served(snapshot, settings) as site:
        code, output = probed(site, f"https://www.kaggle.com/competitions/{site.competition.slug}", "--out", "seen")
    assert code == 1
    assert output.index("different") < output.index("OK")
    assert "the opening message is not included" in output
    assert "status 200" in output
    assert "2 different" in output


def test_a_name_that_does_not_exist_costs_one_request(snapshot: Snapshot) -> None:
    with served(snapshot) as site:
        code, output = probed(site, "no-such-thing")
        assert sum(site.site.requests.values()) == 1
    assert code == 0
    assert "status 403 for no-such-thing" in output


def test_a_folder_with_something_in_it_is_not_written_to(snapshot: Snapshot) -> None:
    Path("seen").mkdir()
    Path("seen/mine").write_text("x")
    with served(snapshot) as site:
        _, error = probed(site, site.competition.slug, "--out", "seen")
        assert sum(site.site.requests.values()) == 0
    assert "seen is not empty" in error


def test_a_key_that_is_refused_is_said_at_once(snapshot: Snapshot) -> None:
    with served(snapshot, SiteSettings(token="KGAT_another")) as site:
        _, error = probed(site, site.competition.slug)
        assert sum(site.site.requests.values()) <= 1
    assert "give the bot a new token" in error


@pytest.mark.parametrize("kind", ["agents", "models"])
def test_it_names_a_kind_that_the_bot_cannot_work_on(kind: CompetitionKind, snapshot: Snapshot) -> None:
    with served(snapshot, SiteSettings(kind=kind)) as site:
        output = probed(site, site.competition.slug, "--json")[1]
    (found,) = json.loads(output)["kinds"]
    assert (found["kind"], found["worked_on"]) == (kind, False)
    assert found["about"].startswith(SENTENCES[kind])
