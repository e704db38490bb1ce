"""What a site may say of kernels' files, and what is made of it."""

from pathlib import Path

import httpx2
import pytest

from scrapers.kaggle.outputs import PublicOutputs
from state.errors import NotAuthenticated
from state.polled import PolledKernel
from state.series import last
from state.store import Store
from tests.scrapers.kaggle.parts import START, SetClock, Site, answer, client_of

HOSTILE = ("../../../../tmp/submission.csv", "/etc/submission.csv", "a/../submission.csv", "..", "sub\x00mission.csv")


def listed(*names: str) -> dict[str, object]:
    return {"files": [{"url": f"https://storage.example/{at}", "fileName": name} for at, name in enumerate(names)]}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "bot.db", SetClock())


def add(store: Store, ref: str, id: str = "7") -> None:
    with store.write() as tx:
        tx.add(PolledKernel(competition="leaf", id=id, ref=ref, last_run_at=START, number=3, current_id=f"{id}/v3"))


def outputs(client: object, store: Store, folder: Path) -> PublicOutputs:
    return PublicOutputs(client, store, "leaf", folder / "deep" / "outputs", "submission.csv", 1_000, 10_000)  # type: ignore[arg-type]


async def test_whatever_files_and_kernels_are_called_nothing_is_written_elsewhere(tmp_path: Path, store: Store) -> None:
    add(store, "../..")
    site = Site([answer(listed(*HOSTILE)), answer("id,y\n")])
    async with client_of(site) as client:
        made = outputs(client, store, tmp_path)
        before = {path for path in tmp_path.rglob("*") if path.is_file()}
        assert await made.collect(5) == 1
    written = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert len(written) == 3 and all(path.is_relative_to(made.folder) for path in written)
    assert len({path.parent for path in written}) == 1 and all(path.suffix == ".csv" for path in written)


async def test_the_submission_comes_first_and_what_is_no_table_is_left(tmp_path: Path, store: Store) -> None:
    add(store, "ann/strong")
    site = Site([answer(listed("model.pkl", "oof.csv", "sub_2.csv", "out/submission.csv")), answer("id,y\n")])
    async with client_of(site) as client:
        made = outputs(client, store, tmp_path)
        await made.collect(5)
    assert {path.relative_to(made.folder).as_posix() for path in made.folder.rglob("*.csv")} == {
        f"ann__strong/{name}" for name in sorted(path.name for path in made.folder.rglob("*.csv"))
    }
    assert [one.method for one in site.asked] == ["ListKernelSessionOutput", "3", "2"]


async def test_a_kernel_that_was_taken_back_keeps_no_other_from_being_read(tmp_path: Path, store: Store) -> None:
    add(store, "ann/gone", "7")
    add(store, "bob/there", "8")
    script = [answer({"error": {"code": 404, "message": "Not found"}}, 404), answer(listed("submission.csv"))]
    async with client_of(Site([*script, answer("id,y\n")])) as client:
        assert await outputs(client, store, tmp_path).collect(5) == 2
    with store.read() as session:
        told = [last(session, "leaf", "output", id).data for id in ("7", "8")]  # type: ignore[union-attr]
    assert sorted(len(one["files"]) for one in told) == [0, 1]
    assert any("why" in one for one in told)


async def test_a_refused_key_stops_and_nothing_counts_as_read(tmp_path: Path, store: Store) -> None:
    add(store, "ann/strong")
    async with client_of(lambda request: httpx2.Response(401, json={"code": 401, "message": "no"})) as client:
        with pytest.raises(NotAuthenticated):
            await outputs(client, store, tmp_path).collect(5)
    with store.read() as session:
        assert last(session, "leaf", "output", "7") is None
