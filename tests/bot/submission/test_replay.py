"""The submitter of a replay: a file placed as a whole, and recognised by what it holds."""

from pathlib import Path

import pytest

from bot.submission.exactly_once import ExactlyOnce
from bot.submission.final_submission import LOCK, ReplaySubmitter
from state.errors import SiteUnavailable, SubmissionInDoubt
from state.store import Store
from tests.bot.submission.parts import (
    RUN,
    Fate,
    HurriedClock,
    Killed,
    MortalStore,
    MortalSubmitter,
    a_file,
    assert_events_match_rows,
    begin,
    rows,
)


def a_run(folder: Path, store: Store, fate: Fate | None = None) -> ExactlyOnce:
    site = MortalSubmitter(ReplaySubmitter(folder / "submission.csv"), fate or Fate())
    return ExactlyOnce(store, RUN, site, store.clock, folder / LOCK, grace=0.0)


async def test_what_was_placed_is_found_by_its_tag_and_nothing_else_is(tmp_path: Path) -> None:
    site = ReplaySubmitter(tmp_path / "submission.csv")
    assert await site.find("r-1") is None
    ref = await site.submit(a_file(tmp_path), "r-1")
    assert await site.find("r-1") == ref
    assert await site.find("r-2") is None
    assert (tmp_path / "submission.csv").read_bytes() == (tmp_path / "made.csv").read_bytes()
    assert not list(tmp_path.glob("*.partial"))


async def test_a_file_that_somebody_changed_is_not_what_was_placed(tmp_path: Path) -> None:
    site = ReplaySubmitter(tmp_path / "submission.csv")
    await site.submit(a_file(tmp_path), "r-1")
    (tmp_path / "submission.csv").write_text("id,label\n")
    assert await site.find("r-1") is None
    (tmp_path / "submission.csv").unlink()
    assert await site.find("r-1") is None


async def test_a_run_folder_that_was_moved_still_knows_what_was_placed(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    ref = await ReplaySubmitter(tmp_path / "old/submission.csv").submit(a_file(tmp_path), "r-1")
    (tmp_path / "old").rename(tmp_path / "new")
    assert await ReplaySubmitter(tmp_path / "new/submission.csv").find("r-1") == ref


async def test_a_file_that_cannot_be_written_leaves_the_one_that_is_there(tmp_path: Path) -> None:
    site = ReplaySubmitter(tmp_path / "submission.csv")
    ref = await site.submit(a_file(tmp_path), "r-1")
    (tmp_path / ".submission.csv.partial").mkdir()
    other = a_file(tmp_path, "id,label\n1,0.6\n", "other.csv")
    with pytest.raises(SiteUnavailable, match=r"submission\.csv could not be written"):
        await site.submit(other, "r-2")
    assert await site.find("r-1") == ref
    with Store.open(tmp_path / "state.db", HurriedClock()) as store:
        begin(store)
        with pytest.raises(SubmissionInDoubt, match="could not be written"):
            await a_run(tmp_path, store).submit(other, node=1, source="refit")
        (tmp_path / ".submission.csv.partial").rmdir()
        assert (await a_run(tmp_path, store).submit(other, node=1, source="refit")).id == "1"
    assert (tmp_path / "submission.csv").read_bytes() == other.read_bytes()


async def test_a_resumed_run_submits_again_under_the_next_number(tmp_path: Path) -> None:
    scored, refit = a_file(tmp_path), a_file(tmp_path, "id,label\n1,0.6\n", "refit.csv")
    for file, how, number in ((scored, "holdout", "1"), (scored, "holdout", "1"), (refit, "refit", "2")):
        with Store.open(tmp_path / "state.db", HurriedClock()) as store:
            begin(store)
            row = await a_run(tmp_path, store).submit(file, node=1, source=how)
            assert (row.id, row.status) == (number, "confirmed")
            assert (tmp_path / "submission.csv").read_bytes() == file.read_bytes()
            assert_events_match_rows(store)


@pytest.mark.integration
async def test_killed_at_each_boundary_the_file_is_placed_and_confirmed(tmp_path: Path) -> None:
    died = True
    at = 0
    while died:
        folder = tmp_path / str(at)
        folder.mkdir()
        file, died = a_file(folder), False
        for fate in (Fate(at), Fate()):
            with MortalStore.open(folder / "state.db", HurriedClock()) as store:
                begin(store)
                store.fate = fate
                try:
                    await a_run(folder, store, fate).submit(file, node=1, source="refit")
                except Killed:
                    died = True
                store.fate = Fate()
                assert_events_match_rows(store)
                at_end = [(row.id, row.status) for row in rows(store)]
        assert at_end == [("1", "confirmed")]
        assert (folder / "submission.csv").read_bytes() == file.read_bytes()
        at += 1
    assert at > 10
