"""The doctor asks Kaggle of each configured competition whether it is entered, and whether its task is certain."""

from pathlib import Path

import pytest

from bot.configuration.competition import CompetitionSettings
from bot.doctor import Finding
from bot.doctor.kaggle import check_kaggle
from bot.simulator.site.settings import SiteSettings
from scrapers.kaggle.settings import KaggleSection
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import DEADLINE, START, HandClock, Served, served, tiny
from tests.bot.submission.kaggle_site import AT_ONCE, played
from tests.tiny_snapshot import SLUG


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return tiny(tmp_path_factory.mktemp("doctor"))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KAGGLE_USERNAME", "KAGGLE_KEY", "KAGGLE_CONFIG_DIR", "CREDENTIALS_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAGGLE_API_TOKEN", SiteSettings().token)


def checked(site: Served, *slugs: str, clock: HandClock | None = None, **settings: object) -> list[Finding]:
    tables = {slug: CompetitionSettings.model_validate(settings) for slug in slugs or (SLUG,)}
    section = KaggleSection(url=f"{site.client.url}/v1", pace=AT_ONCE)
    account, *competitions = check_kaggle(section, tables, clock or HandClock(START))
    assert account.status == "ok"
    return competitions


def test_one_that_is_entered_and_whose_card_is_certain_is_ok(snapshot: Snapshot) -> None:
    with served(snapshot) as site:
        (found,) = checked(site, metric="log_loss")
        (open_,) = checked(site)
    assert (found.part, found.status) == (SLUG, "ok"), found
    assert found.result.startswith("entered; the task spec is complete")
    assert (open_.status, open_.fix) == (
        "warning",
        'confirm it when the bot asks, or add this to bot.toml: metric = "log_loss"',
    )


def test_in_a_rehearsal_deadlines_pass_by_the_sites_clock(tmp_path: Path) -> None:
    tables = {SLUG: CompetitionSettings(metric="log_loss")}
    with played(tmp_path, speed=1.0) as site:
        section = KaggleSection(url=f"{site.url}/v1", pace=AT_ONCE)
        _, passed = check_kaggle(section, tables)
        _, found = check_kaggle(section, tables, rehearsal=True)
    assert "the deadline passed on" in passed.result, "by the clock of this machine"
    assert found.status == "ok", found


def test_without_a_key_the_check_fails_only_where_competitions_are_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KAGGLE_API_TOKEN")
    for tables, status in (({}, "warning"), ({"titanic": CompetitionSettings()}, "fails")):
        assert [one.status for one in check_kaggle(KaggleSection(), tables)] == [status]


def test_one_that_is_not_entered_fails_and_the_page_of_its_rules_is_named(snapshot: Snapshot) -> None:
    with served(snapshot, SiteSettings(entered=False)) as site:
        (found,) = checked(site)
    assert found.status == "fails"
    assert found.fix == f"enter it and accept its rules: https://www.kaggle.com/competitions/{SLUG}/rules"


def test_one_that_there_is_not_fails_and_the_others_are_looked_at(snapshot: Snapshot) -> None:
    with served(snapshot) as site:
        wrong, near, right = checked(site, "titanik", SLUG[:-1], SLUG, metric="log_loss")
    assert (wrong.part, wrong.status, near.status, right.status) == ("titanik", "fails", "fails", "ok")
    assert "[competitions.titanik] in bot.toml" in (wrong.fix or "")
    assert f"among the ones you have entered: choose from {SLUG}" in (wrong.fix or "")
    assert f"did you mean {SLUG}?" in (near.fix or "")


@pytest.mark.integration
def test_a_folder_of_notes_that_is_not_there_is_a_warning(snapshot: Snapshot, tmp_path: Path) -> None:
    with served(snapshot) as site:
        (missing,) = checked(site, notes=tmp_path / "none")
        (found,) = checked(site, metric="log_loss", notes=tmp_path)
    assert (missing.status, found.status) == ("warning", "ok")
    assert missing.result == f"cannot read the notes folder {tmp_path / 'none'}"


def test_what_is_not_certain_of_the_task_comes_with_the_lines_to_write(snapshot: Snapshot) -> None:
    with served(snapshot) as site:
        (found,) = checked(site, metric="accuracy", direction="minimize")
    assert found.status == "fails"
    assert found.result.startswith("parts of the task spec are uncertain: ")
    assert (found.fix or "").startswith(f"add under [competitions.{SLUG}] in bot.toml: ")


def test_a_grader_of_the_owners_that_cannot_be_used_fails(snapshot: Snapshot, tmp_path: Path) -> None:
    grader = tmp_path / "grade.py"
    with served(snapshot) as site:
        (found,) = checked(site, metric=str(grader), direction="minimize")
        assert (found.status, found.result) == ("fails", f"{grader} cannot be read: no such file")
        grader.write_text("def grade(submission, answers):\n    return 0.5\n")
        (found,) = checked(site, metric=str(grader), direction="minimize")
        assert found.status == "ok", found


def test_one_whose_deadline_has_passed_is_a_warning(snapshot: Snapshot) -> None:
    with served(snapshot) as site:
        (found,) = checked(site, clock=HandClock(DEADLINE))
    assert (found.status, found.result) == ("warning", "the deadline passed on 2020-03-01 00:00 UTC")


def test_a_site_that_does_not_answer_fails() -> None:
    (found,) = check_kaggle(KaggleSection(url="http://127.0.0.1:9/v1"), {"titanic": CompetitionSettings()})
    assert (found.status, found.result) == ("fails", "http://127.0.0.1:9/v1 does not answer")
