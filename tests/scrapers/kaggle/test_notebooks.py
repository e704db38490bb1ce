"""Notebooks and data sets on Kaggle: our own, and what public ones have written."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from scrapers.kaggle.datasets import DataSets, DataSetStatus
from scrapers.kaggle.notebooks import Notebooks, PushedKernel, SessionStatus
from scrapers.kaggle.outputs import PublicOutputs
from state.errors import KaggleError, NotAuthenticated, RateLimited, SiteUnavailable
from state.series import last_reading
from state.store import Store
from state.tables import KernelVersion, PolledKernel
from tests.scrapers.kaggle.parts import START, SetClock, Site, answer, broken, client_of

DENIED = answer({"error": {"code": 403, "message": "Permission 'datasets.get' was denied"}}, 403)

KERNEL = PushedKernel("me/best", "Best", "{}", "leaf", ("me/weights",))


async def test_what_does_not_exist_is_no_error() -> None:
    async with client_of(Site([DENIED])) as client:
        assert await DataSets(client).status("me/weights") is None
        assert await Notebooks(client).source("me/best") is None


@pytest.mark.parametrize(("name", "failed"), [("READY", False), ("FAILED", True), ("BLOBS_RECEIVED", False)])
async def test_a_data_sets_status_is_read_by_name(name: str, failed: bool) -> None:
    async with client_of(Site([answer({"status": name})])) as client:
        found = await DataSets(client).status("me/weights")
    assert (found is DataSetStatus[name], found.failed) == (True, failed)


async def test_what_is_wrong_with_a_push_comes_under_200() -> None:
    async with client_of(Site([answer({"error": "A title must be specified"})])) as client:
        with pytest.raises(KaggleError, match="A title must be specified"):
            await Notebooks(client).push(KERNEL)
    async with client_of(Site([answer({"error": "Maximum batch CPU session count of 5 reached."})])) as client:
        with pytest.raises(RateLimited, match="session count of 5"):
            await Notebooks(client).push(KERNEL)


async def test_a_push_names_the_sources_that_kaggle_left_out() -> None:
    site = Site([answer({"ref": "me/best", "versionNumber": 2, "invalidDatasetSources": ["me/weights"]})])
    async with client_of(site) as client:
        pushed = await Notebooks(client).push(KERNEL)
    assert (pushed.version_number, pushed.unknown_sources) == (2, ("me/weights",))
    body = site.asked[0].body
    assert (body["isPrivate"], body["enableInternet"], body["enableGpu"]) == (True, False, False)


async def test_a_push_is_sent_once() -> None:
    site = Site([broken()])
    async with client_of(site) as client:
        with pytest.raises(SiteUnavailable):
            await Notebooks(client).push(KERNEL)
    assert len(site.asked) == 1


async def test_output_is_read_to_its_last_page_and_its_log_is_text() -> None:
    log = json.dumps([{"stream_name": "stdout", "time": 1, "data": "a\n"}, {"data": "b\n"}])

    def page(name: str, **more: Any) -> Any:
        return answer({"files": [{"url": "u", "fileName": name}], **more})

    async with client_of(Site([page("a.csv", log=log, nextPageToken="t"), page("b.csv")])) as client:
        found = await Notebooks(client).output("me/best", 1)
    assert ([one.file_name for one in found.files], found.log) == (["a.csv", "b.csv"], "a\nb\n")


async def test_a_run_is_cancelled_by_the_session_that_the_search_shows() -> None:
    found = {"documents": [{"slug": "best", "kernelDocument": {"sessionId": "77"}}]}
    site = Site([answer(found), answer({})])
    async with client_of(site) as client:
        assert await Notebooks(client).cancel("me/best", "Best")
        assert not await Notebooks(client).cancel("me/best", "Best")
    assert site.asked[1].body == {"kernelSessionId": 77}


async def test_the_time_left_on_accelerators_is_counted_in_seconds() -> None:
    quota = {"timeUsed": "3600s", "timeReserved": "0.5s", "totalTimeAllowed": "108000s"}
    async with client_of(Site([answer({"gpuQuota": quota})])) as client:
        found = await Notebooks(client).accelerator_quota()
    assert found.gpu_quota.remaining_seconds == 108_000 - 3_600.5


async def test_an_ended_run_is_one_that_ran_failed_or_was_cancelled() -> None:
    assert {one.name for one in SessionStatus if one.ended} == {"COMPLETE", "ERROR", "CANCEL_ACKNOWLEDGED"}


HOSTILE = ("../../../../tmp/submission.csv", "/etc/submission.csv", "a/../submission.csv", "..", "sub\x00mission.csv")


def listed(*names: str) -> dict[str, object]:
    return {
        "files": [{"url": f"https://storage.googleapis.com/{at}", "fileName": name} for at, name in enumerate(names)]
    }


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "bot.db", SetClock())


def add(store: Store, ref: str, id: str = "7", ago: int = 0) -> None:
    """Store a kernel whose third version was read, a fourth being there already."""
    at = START - timedelta(days=ago)
    with store.write() as tx:
        tx.add(PolledKernel(competition="leaf", id=id, ref=ref, last_run_at=at, number=4, current_id=f"{id}/v3"))
        tx.add(KernelVersion(competition="leaf", id=f"{id}/v3", ref=ref, version=3, created_at=at))


def readings(store: Store, *ids: str) -> list[dict[str, Any]]:
    with store.read() as session:
        return [last_reading(session, "leaf", "output", id).data for id in ids]  # type: ignore[union-attr]


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
    site = Site([answer(listed("model.pkl", "oof.csv", "sub_2.csv", "out/submission.csv")), answer("own"), answer("2")])
    async with client_of(site) as client:
        made = outputs(client, store, tmp_path)
        await made.collect(5)
    assert len({path.read_text() for path in made.folder.rglob("ann__strong/*.csv")}) == 2
    assert [one.method for one in site.asked] == ["ListKernelSessionOutput", "3", "2"]
    assert site.asked[0].body["versionLabel"] == "v3", "the version that was read"


async def test_a_kernel_that_was_taken_back_keeps_no_other_from_being_read(tmp_path: Path, store: Store) -> None:
    add(store, "ann/gone", "7")
    add(store, "bob/there", "8")
    script = [answer({"error": {"code": 404, "message": "Not found"}}, 404), answer(listed("submission.csv"))]
    async with client_of(Site([*script, answer("id,y\n")])) as client:
        assert await outputs(client, store, tmp_path).collect(5) == 2
    seen = readings(store, "7", "8")
    assert sorted(len(one["files"]) for one in seen) == [0, 1]
    assert any("why" in one for one in seen)


async def test_a_bad_moment_is_tried_again_and_keeps_no_other_kernel_from_being_read(tmp_path, store) -> None:
    add(store, "ann/first", "7")
    add(store, "bob/second", "8", ago=1)
    bad = True

    def site(request: httpx2.Request) -> httpx2.Response:
        if request.url.path.endswith("ListKernelSessionOutput"):
            return httpx2.Response(200, json=listed("submission.csv"))
        return (
            httpx2.Response(503) if bad and not asked.append(1) and len(asked) == 1 else httpx2.Response(200, text="y")
        )

    asked: list[int] = []
    async with client_of(site) as client:
        made = outputs(client, store, tmp_path)
        assert await made.collect(5) == 2
        assert [len(one["files"]) for one in readings(store, "7", "8")] == [0, 1]
        assert await made.collect(5) == 1
        assert [len(one["files"]) for one in readings(store, "7", "8")] == [1, 1]
        assert await made.collect(5) == 0


async def test_a_kernel_that_always_fails_is_given_up(tmp_path: Path, store: Store) -> None:
    add(store, "ann/broken")

    def site(request: httpx2.Request) -> httpx2.Response:
        seen = request.url.path.endswith("ListKernelSessionOutput")
        return httpx2.Response(200, json=listed("submission.csv")) if seen else httpx2.Response(403)

    async with client_of(site) as client:
        made = outputs(client, store, tmp_path)
        assert [await made.collect(5) for _ in range(6)] == [1, 1, 1, 1, 1, 0]


async def test_what_is_kept_is_bounded_all_the_while_and_the_last_run_stay(tmp_path: Path, store: Store) -> None:
    for number in range(6):
        add(store, f"ann/k{number}", str(number), ago=number)

    def site(request: httpx2.Request) -> httpx2.Response:
        seen = request.url.path.endswith("ListKernelSessionOutput")
        most.append(sum(path.stat().st_size for path in tmp_path.rglob("*.csv")))
        return httpx2.Response(200, json=listed("submission.csv")) if seen else httpx2.Response(200, text="x" * 400)

    most: list[int] = []
    async with client_of(site) as client:
        made = replace(outputs(client, store, tmp_path), max_bytes=1_000)
        await made.collect(10)
    assert max(most) <= 1_000
    assert sorted(path.parent.name for path in tmp_path.rglob("*.csv")) == ["ann__k0", "ann__k1"]


async def test_a_refused_key_stops_and_nothing_counts_as_read(tmp_path: Path, store: Store) -> None:
    add(store, "ann/strong")
    async with client_of(lambda request: httpx2.Response(401, json={"code": 401, "message": "no"})) as client:
        with pytest.raises(NotAuthenticated):
            await outputs(client, store, tmp_path).collect(5)
    with store.read() as session:
        assert last_reading(session, "leaf", "output", "7") is None
