"""Whole MLE-Live folders laid onto tasks."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.research.importers.mle_live.community import DATED, FROM
from bot.research.importers.mle_live.importing import ImportRequest
from scrapers.snapshots.manifest import RowCounts
from scrapers.snapshots.snapshot import Snapshot, format_summary
from state.community import CommunityView
from state.community_rows import add_community
from state.errors import UsageError
from state.store import Store
from tests.bot.research.importers.mle_live.conftest import only, rows, run
from tests.bot.research.importers.mle_live.hand_written import (
    KERNEL_LIST,
    KERNELS,
    SLUG,
    write_kind,
    write_newer,
    write_older,
)
from tests.scrapers.in_process import rows_of
from tests.scrapers.small import METRICS, write_manifest
from tests.state.conftest import StandingClock

DEADLINE = datetime(2020, 3, 1, tzinfo=UTC)


async def shown(wanted: ImportRequest, as_of: datetime) -> list[str]:
    """Return the posts of the imported snapshot that may be known at a time."""
    snapshot = Snapshot.load(wanted.out / SLUG, METRICS)
    found = await rows_of(snapshot)
    with Store.open(wanted.out / "state.db", StandingClock()) as store:
        with store.write() as tx:
            add_community(tx, SLUG, found)
        return [post.item for post in CommunityView(store, SLUG, as_of).posts()]


async def test_what_has_a_date_is_shown_from_then_on_and_comments_never(wanted: ImportRequest):
    outcome = only(wanted)
    assert (outcome.status, outcome.path) == ("imported", wanted.out / SLUG)
    assert outcome.counts is not None
    assert outcome.counts.rows == RowCounts(topics=2, messages=5, kernels=2)
    assert outcome.counts.undated == RowCounts(messages=3)
    assert outcome.counts.omitted == outcome.counts.remarks == ()
    assert await shown(wanted, DEADLINE) == ["message/101-0", "kernel/201", "message/102-0"]
    assert await shown(wanted, datetime(2020, 1, 5, 10, tzinfo=UTC)) == [], "it counts a moment later"


async def test_on_demand_what_has_no_date_is_shown_from_the_deadline_on(wanted: ImportRequest):
    wanted = replace(wanted, at_deadline=True)
    assert only(wanted).status == "imported"
    before = datetime(2020, 2, 29, tzinfo=UTC)
    assert await shown(wanted, before) == ["message/101-0", "kernel/201", "message/102-0"]
    assert sorted(await shown(wanted, DEADLINE)) == sorted(
        ["kernel/201", *(f"message/{id}" for id in ("101-0", "101-1", "101-2", "101-3", "102-0"))]
    )
    snapshot = Snapshot.load(wanted.out / SLUG, METRICS)
    dated = snapshot.manifest.dated_at_deadline
    assert dated is not None
    assert dated.model_dump() == {"topics": 0, "messages": 3, "kernels": 0}
    assert format_summary(snapshot)[-1] == (
        "undated, so imported with the deadline as their date: 0 topics, 3 messages, 0 kernel versions"
    )
    assert [row["source"] for row in rows(wanted, "messages")] == [FROM, DATED, DATED, DATED, FROM]
    assert any("deadline" in source for source in snapshot.manifest.sources)


async def test_the_older_layout_has_no_dates_at_all(wanted: ImportRequest, tmp_path: Path):
    wanted = replace(wanted, root=write_older(tmp_path / "older"))
    counts = only(wanted).counts
    assert counts is not None
    assert counts.undated == counts.rows == RowCounts(topics=2, messages=5, kernels=2)
    assert await shown(wanted, datetime(2030, 1, 1, tzinfo=UTC)) == []
    dated = replace(wanted, at_deadline=True, out=tmp_path / "dated")
    assert only(dated).status == "imported"
    assert len(await shown(dated, DEADLINE)) == 7


def test_a_list_in_the_older_layout_and_a_dict_in_the_newer_are_read_too(wanted: ImportRequest, tmp_path: Path):
    write_kind(tmp_path / "mixed/docs/small/docs/kernels", KERNEL_LIST, KERNELS)
    write_kind(tmp_path / "dict/small/kernels", {"201": {"title": "Means", "votes": 3}}, {"201": KERNELS["201"]})
    counts = only(replace(wanted, root=tmp_path / "mixed")).counts
    assert counts is not None
    assert (counts.rows, counts.undated) == (RowCounts(kernels=2), RowCounts())
    counts = only(replace(wanted, root=tmp_path / "dict", out=tmp_path / "other")).counts
    assert counts is not None
    assert (counts.rows, counts.undated) == (RowCounts(kernels=1), RowCounts(kernels=1))


def facts(folder: Path) -> list[object]:
    """Return a state of a folder's files that shows whether they were changed."""
    return sorted((str(path), path.lstat().st_size, path.lstat().st_mtime_ns) for path in folder.rglob("*"))


def test_the_task_is_linked_and_never_changed(wanted: ImportRequest):
    before = facts(wanted.tasks)
    only(wanted)
    task, made = wanted.tasks / SLUG, wanted.out / SLUG
    for name in ("data/train.csv", "private/answers.csv", "leaderboard.csv", "description.md"):
        assert (made / name).samefile(task / name)
    only(replace(wanted, at_deadline=True, out=wanted.out / "dated"))
    assert facts(wanted.tasks) == before
    assert not (made / "community/kernels/first.py").exists(), "the task's own community stays behind"


def test_hashes_of_the_task_still_hold_and_those_of_its_community_go(wanted: ImportRequest):
    manifest = json.loads((wanted.tasks / SLUG / "snapshot.json").read_text())
    write_manifest(wanted.tasks / SLUG, sha256=manifest["sha256"] | {"community/topics.jsonl": "0" * 64})
    assert only(wanted).status == "imported"
    made = json.loads((wanted.out / SLUG / "snapshot.json").read_text())
    assert made["sha256"] == manifest["sha256"]
    assert made["sources"][0] == "written for the tests"


def test_what_is_there_is_not_made_again(wanted: ImportRequest):
    (wanted.out / ".import-small").mkdir(parents=True)
    (wanted.out / ".import-small/half").write_text("left by a killed import")
    assert only(wanted).status == "imported"
    (wanted.out / SLUG / "description.md").unlink()
    (wanted.out / SLUG / "description.md").write_text("mine")
    (wanted.root / SLUG / "discussions/103.txt").write_text("# More\n(Eve <TIER: 1>) Hi")
    assert only(wanted).status == "already exists"
    assert (wanted.out / SLUG / "description.md").read_text() == "mine"
    assert sorted(path.name for path in wanted.out.iterdir()) == [".import.lock", SLUG]


def test_what_was_imported_with_another_option_is_named(wanted: ImportRequest):
    only(wanted)
    outcome = only(replace(wanted, at_deadline=True))
    assert outcome.status == "failed"
    assert "was imported with a different --undated-at" in str(outcome.sentence)


def test_what_is_no_import_is_not_replaced(wanted: ImportRequest):
    (wanted.out / SLUG).mkdir(parents=True)
    (wanted.out / SLUG / "file").write_text("mine")
    outcome = only(wanted)
    assert outcome.status == "failed"
    assert "was not imported from MLE-Live" in str(outcome.sentence)
    assert (wanted.out / SLUG / "file").read_text() == "mine"


def test_a_competition_without_a_task_or_a_community_stops_no_other(wanted: ImportRequest):
    write_newer(wanted.root, "another")
    (wanted.root / "empty/input").mkdir(parents=True)
    found = {outcome.competition: outcome for outcome in run(wanted)}
    assert {slug: one.status for slug, one in found.items()} == {
        "another": "no task",
        "empty": "nothing to import",
        SLUG: "imported",
    }
    assert "bot snapshot import mle-bench" in str(found["another"].sentence)


def test_a_broken_task_fails_alone_and_leaves_nothing(wanted: ImportRequest):
    write_newer(wanted.root, "broken")
    shutil.copytree(wanted.tasks / SLUG, wanted.tasks / "broken")
    write_manifest(wanted.tasks / "broken", slug="broken", sha256={"data/train.csv": "0" * 64})
    write_newer(wanted.root, "unread")
    (wanted.tasks / "unread").mkdir()
    (wanted.tasks / "unread/snapshot.json").write_text("{")
    found = {outcome.competition: outcome for outcome in run(wanted)}
    assert found["broken"].status == found["unread"].status == "failed"
    assert "data/train.csv: has the SHA-256" in str(found["broken"].sentence)
    assert "snapshot.json:1: is not JSON" in str(found["unread"].sentence)
    assert found[SLUG].status == "imported"
    assert sorted(path.name for path in wanted.out.iterdir()) == [".import.lock", SLUG]


def test_only_the_competitions_that_are_named_come_in(wanted: ImportRequest):
    write_newer(wanted.root, "another")
    assert [outcome.competition for outcome in run(replace(wanted, only=[SLUG]))] == [SLUG]
    with pytest.raises(UsageError, match=r"not found in .*: nothing; available: another, small"):
        run(replace(wanted, only=["nothing"]))


def test_a_single_competition_and_a_single_task_will_do(wanted: ImportRequest):
    assert only(replace(wanted, root=wanted.root / SLUG, tasks=wanted.tasks / SLUG)).status == "imported"


def test_an_import_can_be_the_task_of_another(wanted: ImportRequest, tmp_path: Path):
    only(replace(wanted, at_deadline=True))
    again = replace(wanted, tasks=wanted.out, out=tmp_path / "again")
    assert only(again).status == "imported"
    assert Snapshot.load(again.out / SLUG, METRICS).manifest.dated_at_deadline is None


def test_folders_that_do_not_fit_together_are_refused(wanted: ImportRequest, tmp_path: Path):
    (tmp_path / "empty").mkdir()
    for change, words in (
        ({"out": wanted.tasks / "new"}, "which must not change"),
        ({"out": wanted.root}, "is the folder to import"),
        ({"root": tmp_path / "empty"}, "is not an MLE-Live folder"),
        ({"root": tmp_path / "gone"}, "cannot be read|is not an MLE-Live folder"),
        ({"tasks": tmp_path / "empty"}, "contains no snapshot"),
        ({"tasks": tmp_path / "gone"}, "cannot be read"),
    ):
        with pytest.raises(UsageError, match=words):
            run(replace(wanted, **change))
