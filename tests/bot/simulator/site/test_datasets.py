"""The user's data sets on the site: made of uploads, ready after a while, known by their titles."""

from typing import Any

import pytest

from bot.simulator.site.faults import Fault, Faults
from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import BLOBS, DATASETS, KERNELS, Served, served
from tests.bot.simulator.site.test_kernel_runs import PUSHED, save

NAME = {"ownerSlug": "rehearsal", "datasetSlug": "weights"}


def blob(it: Served, content: bytes = b"weights") -> dict[str, str]:
    started = it.client.ask(f"{BLOBS}/StartBlobUpload", type="DATASET", name="model.bin", contentLength=len(content))
    assert it.client.http.put(started["createUrl"], content=content).status_code == 200
    return {"token": started["token"]}


def create(it: Served, **changes: Any) -> dict[str, Any]:
    body = {"ownerSlug": "rehearsal", "slug": "weights", "title": "Weights", "isPrivate": True, "files": [blob(it)]}
    return it.client.ask(f"{DATASETS}/CreateDataset", **body | changes)


def status(it: Served) -> str:
    return str(it.client.ask(f"{DATASETS}/GetDatasetStatus", **NAME)["status"])


def test_a_data_set_is_ready_after_a_while(here: Served) -> None:
    made = create(here)
    assert (made["ref"], made["status"]) == ("rehearsal/weights", "ok")
    seen = []
    for _ in range(20):
        seen.append(status(here))
        here.clock.pass_by(seconds=10)
    assert list(dict.fromkeys(seen)) == ["NOT_YET_PERSISTED", "BLOBS_RECEIVED", "READY"]
    [mine] = here.client.ask(f"{DATASETS}/ListDatasets", group="DATASET_SELECTION_GROUP_MY")["datasets"]
    assert (mine["ref"], mine["isPrivate"], mine["totalBytes"]) == ("rehearsal/weights", True, 7)
    assert here.client.ask(f"{DATASETS}/ListDatasets") == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"slug": "others"}, "already in use by a dataset"),
        ({"title": "Others"}, "already in use by a dataset"),
        ({"title": "Few", "slug": "others"}, "between 6 and 50 characters"),
        ({"title": "Others", "slug": "others", "files": []}, "At least one file"),
    ],
)
def test_what_is_wrong_with_a_data_set_comes_under_200(here: Served, changes: dict[str, Any], words: str) -> None:
    create(here)
    refused = create(here, **changes)
    assert refused["status"] == "error"
    assert words in refused["error"]


def test_a_data_set_that_does_not_exist_or_was_removed_is_a_403(here: Served) -> None:
    create(here)
    here.client.ask(f"{DATASETS}/DeleteDataset", **NAME)
    answer = here.client.post(f"{DATASETS}/GetDatasetStatus", **NAME)
    assert (answer.status_code, "Permission 'datasets.get' was denied" in answer.text) == (403, True)
    assert here.client.post(f"{DATASETS}/CreateDataset", ownerSlug="ann", title="Weights").status_code == 403


def test_an_upload_that_did_not_arrive_makes_no_data_set(here: Served) -> None:
    started = here.client.ask(f"{BLOBS}/StartBlobUpload", type="DATASET", name="model.bin", contentLength=7)
    body = {"title": "Weights", "files": [{"token": started["token"]}]}
    assert here.client.post(f"{DATASETS}/CreateDataset", **body).status_code == 400
    assert here.client.post(f"{DATASETS}/GetDatasetStatus", **NAME).status_code == 403


def test_a_data_set_may_fail_for_good(snapshot: Snapshot) -> None:
    faults = Faults([Fault(kind="datasets-fail", method="CreateDataset", for_seconds=60)])
    with served(snapshot, faults=faults) as it:
        create(it)
        create(it, slug="others", title="Others")
        it.clock.pass_by(hours=1)
        assert status(it) == "FAILED"
        assert save(it, datasetDataSources=["rehearsal/weights"])["invalidDatasetSources"] == ["rehearsal/weights"]
        create(it, slug="thirds", title="Thirds")
        it.clock.pass_by(hours=1)
        assert "invalidDatasetSources" not in save(it, datasetDataSources=["rehearsal/thirds"])


def test_a_kernel_is_made_without_data_sets_that_are_not_ready(here: Served) -> None:
    create(here)
    saved = save(here, datasetDataSources=["rehearsal/weights", "rehearsal/others"])
    assert (saved["versionNumber"], saved["invalidDatasetSources"]) == (1, ["rehearsal/weights", "rehearsal/others"])


def test_a_title_belongs_to_one_kernel_and_names_a_new_one(here: Served) -> None:
    save(here)
    assert "already in use by a notebook" in save(here, slug="rehearsal/second-try")["error"]
    assert save(here, slug="rehearsal/whatever", newTitle="Second try")["ref"] == "rehearsal/second-try"
    assert save(here, newTitle="Another title")["versionNumber"] == 2


def test_five_runs_go_on_at_a_time_and_gpus_have_their_hours(snapshot: Snapshot) -> None:
    with served(snapshot, SiteSettings(gpu_hours=0.01, kernel_seconds=(100, 100))) as it:
        gpu = PUSHED | {"machineShape": "NvidiaTeslaT4"}
        assert it.client.ask(f"{KERNELS}/SaveKernel", **gpu)["versionNumber"] == 1
        assert "weekly GPU quota" in it.client.ask(f"{KERNELS}/SaveKernel", **gpu)["error"]
        it.clock.pass_by(hours=1)
        quota = it.client.ask(f"{KERNELS}/GetAcceleratorQuotaStatistics")
        assert quota["gpuQuota"] == {"timeUsed": "50s", "timeReserved": "0s", "totalTimeAllowed": "36s"}
        assert quota["quotaRefreshTime"].startswith("2020-01-11T00:00:00")  # a Saturday
        for _ in range(5):
            save(it)
        assert "Maximum batch CPU session count of 5 reached" in save(it)["error"]
