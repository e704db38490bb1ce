"""Our own notebooks and data sets on Kaggle: what its answers mean."""

import json
from typing import Any

import pytest

from scrapers.kaggle.datasets import DataSets, DataSetStatus
from scrapers.kaggle.notebooks import Notebooks, PushedKernel, SessionStatus
from state.errors import KaggleError, RateLimited, SiteUnavailable
from tests.scrapers.kaggle.parts import Site, answer, broken, client_of

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
    assert (pushed.version_number, pushed.left_out) == (2, ("me/weights",))
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
    assert found.gpu_quota.left == 108_000 - 3_600.5


async def test_an_ended_run_is_one_that_ran_failed_or_was_cancelled() -> None:
    assert {one.name for one in SessionStatus if one.ended} == {"COMPLETE", "ERROR", "CANCEL_ACKNOWLEDGED"}
