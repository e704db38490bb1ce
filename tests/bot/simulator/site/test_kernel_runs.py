"""Kernels that are pushed: how their runs go by the site's clock, and submissions made of what they wrote."""

from pathlib import Path
from typing import Any

from tests.bot.simulator.site.parts import COMPETITIONS, KERNELS, Served, served, tiny

PUSHED: dict[str, Any] = {
    "slug": "rehearsal/first-try",
    "newTitle": "First try",
    "text": "print('hello')",
    "language": "python",
    "kernelType": "script",
    "isPrivate": True,
    "enableInternet": False,
    "competitionDataSources": ["tiny-table"],
}
MINE = {"userName": "rehearsal", "kernelSlug": "first-try"}


def save(it: Served, **changes: Any) -> dict[str, Any]:
    return it.client.ask(f"{KERNELS}/SaveKernel", **PUSHED | changes)


def status(it: Served, **label: str) -> str:
    return str(it.client.ask(f"{KERNELS}/GetKernelSessionStatus", **MINE, **label)["status"])


def submit(it: Served, version: int | None = 1, name: str = "submission.csv", owner: str = "rehearsal") -> Any:
    body = {"competitionName": "tiny-table", "kernelOwner": owner, "kernelSlug": "first-try", "fileName": name}
    wanted = body | {"submissionDescription": "r-1", "kernelVersion": version}
    return it.client.post(f"{COMPETITIONS}/CreateCodeSubmission", **wanted)


def test_a_kernel_is_queued_runs_and_writes_the_sample(here: Served) -> None:
    saved = save(here)
    assert (saved["ref"], saved["versionNumber"]) == ("rehearsal/first-try", 1)
    seen = [status(here)]
    for _ in range(60):
        here.clock.pass_by(seconds=10)
        seen.append(status(here))
    assert list(dict.fromkeys(seen)) == ["QUEUED", "RUNNING", "COMPLETE"]
    output = here.client.ask(f"{KERNELS}/ListKernelSessionOutput", **MINE)
    [file] = output["files"]
    assert (file["fileName"], here.client.http.get(file["url"]).content) == ("submission.csv", here.sample)
    assert "no code ran" in output["log"]


def test_versions_are_counted_and_private_ones_are_the_owners_alone(here: Served) -> None:
    assert [save(here)["versionNumber"] for _ in range(2)] == [1, 2]
    here.clock.pass_by(hours=1)
    save(here)
    assert (status(here, versionLabel="v1"), status(here)) == ("COMPLETE", "QUEUED")
    mine = here.client.ask(f"{KERNELS}/ListKernels", group="PROFILE")["kernels"]
    assert [(one["ref"], one["isPrivate"], one["currentVersionNumber"]) for one in mine] == [
        ("rehearsal/first-try", True, 3)
    ]
    found = here.client.ask("search.SearchApiService/ListEntities", filters={"query": "first try"})
    [document] = [one for one in found["documents"] if one["documentType"] == "KERNEL"]
    assert (document["slug"], document["isPrivate"]) == ("first-try", True)


def test_what_is_wrong_with_a_kernel_comes_under_200(here: Served) -> None:
    assert save(here, kernelType="poem")["error"]
    assert save(here, text="")["error"]
    assert save(here, kernelType="notebook")["error"] == "The notebook's source is not valid JSON"
    lines = '{"cells": [{"cell_type": "code", "source": ["print()"]}]}'
    assert "one string" in save(here, kernelType="notebook", text=lines)["error"]
    assert save(here, competitionDataSources=["tiny-table", "x"])["invalidCompetitionSources"] == ["x"]
    assert here.client.post(f"{KERNELS}/SaveKernel", **PUSHED | {"slug": "ann/linear"}).status_code == 403


def test_a_competition_for_files_refuses_notebooks(here: Served) -> None:
    save(here)
    here.clock.pass_by(hours=1)
    assert submit(here).status_code == 400
    assert here.site.submissions == []


def test_a_competition_for_notebooks_takes_what_a_run_wrote(tmp_path: Path) -> None:
    with served(tiny(tmp_path, kind="code")) as it:
        save(it)
        assert "not completed" in submit(it).text
        it.clock.pass_by(hours=1)
        assert 'must be named \\"submission.csv\\"' in submit(it, name="other.csv").text
        assert submit(it, version=2).status_code == 404
        assert submit(it, owner="ann").status_code == 403
        assert submit(it).json()["ref"] > 0
        it.settle()
        [kept] = it.site.submissions
        assert (kept.tag, kept.public_score) == ("r-1", 0.69315)


def test_a_kernel_with_internet_may_not_be_submitted(tmp_path: Path) -> None:
    with served(tiny(tmp_path, kind="code")) as it:
        save(it, enableInternet=True)
        it.clock.pass_by(hours=1)
        refused = submit(it)
        assert (refused.status_code, "cannot use internet access in this competition" in refused.text) == (400, True)


def test_the_quota_holds_for_notebooks_too(tmp_path: Path) -> None:
    with served(tiny(tmp_path, kind="code", max_daily_submissions=1)) as it:
        save(it)
        it.clock.pass_by(hours=1)
        assert submit(it).status_code == 200
        assert "daily Submission allowance (1)" in submit(it).text


def test_kernels_of_others_have_run_and_keep_their_source_alone(here: Served) -> None:
    linear = {"userName": "ann", "kernelSlug": "linear"}
    assert here.client.ask(f"{KERNELS}/GetKernelSessionStatus", **linear)["status"] == "COMPLETE"
    [file] = here.client.ask(f"{KERNELS}/ListKernelSessionOutput", **linear)["files"]
    assert "C=1" in here.client.http.get(file["url"]).text
