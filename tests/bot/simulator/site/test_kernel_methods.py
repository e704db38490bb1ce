"""Kernels as a reader finds them: current versions in lists, older ones by label, orders, filters, sources."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.identity import wire_id
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.simulator.site.parts import KERNELS, Served, served
from tests.tiny_snapshot import write_tiny

NOTEBOOK = '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'


def kernel(number: int, ref: str, version: int | None, at: str | None, **fields: Any) -> dict[str, Any]:
    row = {"id": number, "ref": ref, "version": version, "title": ref, "author": "Ann", "tier": None, "created_at": at}
    row |= {"votes": 50, "public_score": 0.1, "language": "python", "kind": "script", "datasets": []}
    return row | {"parent_ref": None, "path": "kernels/linear.py"} | fields


def with_kernels(folder: Path, rows: list[Any], readings: list[Any] | None = None) -> Snapshot:
    path = write_tiny(folder / "tiny")
    (path / "community" / "kernels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (path / "community" / "observations.jsonl").write_text("".join(json.dumps(row) + "\n" for row in readings or []))
    (path / "community" / "kernels" / "book.ipynb").write_text(NOTEBOOK)
    (path / "community" / "kernels" / "words.md").write_text("# In words\n")
    return Snapshot.load(path, METRIC_DIRECTIONS)


def refs(it: Served, **body: Any) -> list[str]:
    found = it.client.ask(f"{KERNELS}/ListKernels", competition="tiny-table", **body).get("kernels", [])
    return [one["ref"] for one in found]


def get(it: Served, ref: str, **body: Any) -> dict[str, Any]:
    owner, slug = ref.split("/")
    return it.client.ask(f"{KERNELS}/GetKernel", userName=owner, kernelSlug=slug, **body)


def test_only_the_current_version_is_listed_and_older_ones_are_found_by_label(tmp_path: Path) -> None:
    rows = [
        kernel(1, "ann/one", 1, "2020-01-03T00:00:00Z"),
        kernel(2, "ann/one", 2, "2020-01-05T00:00:00Z", path="kernels/book.ipynb", kind="notebook"),
        kernel(3, "ann/one", 3, "2020-02-05T00:00:00Z"),
        kernel(4, "ann/one", 4, None),
    ]
    with served(with_kernels(tmp_path, rows)) as it:
        [listed] = it.client.ask(f"{KERNELS}/ListKernels", competition="tiny-table")["kernels"]
        assert (listed["currentVersionNumber"], listed["lastRunTime"][:19]) == (2, "2020-01-05T00:00:00")
        assert listed["id"] == wire_id("kernel", "ann/one")
        assert get(it, "ann/one")["blob"]["source"] == NOTEBOOK
        older = get(it, "ann/one", versionLabel="v1")
        assert (older["blob"]["kernelType"], "C=1" in older["blob"]["source"]) == ("script", True)
        for label in ("1", "2", "v3", "v4", "V1", "latest"):
            answer = it.client.post(f"{KERNELS}/GetKernel", userName="ann", kernelSlug="one", versionLabel=label)
            assert (label, answer.status_code) == (label, 404)


def test_a_kernel_that_is_not_there_is_a_403(here: Served) -> None:
    for owner, slug in (("ann", "nothing"), ("bob", "linear"), ("ann", "linear/1")):
        answer = here.client.post(f"{KERNELS}/GetKernel", userName=owner, kernelSlug=slug)
        assert (answer.status_code, "Permission 'kernels.get' was denied" in answer.text) == (403, True)


def test_prose_comes_as_a_notebook_of_one_cell(tmp_path: Path) -> None:
    rows = [kernel(1, "ann/one", None, "2020-01-03T00:00:00Z", path="kernels/words.md", kind="writeup")]
    with served(with_kernels(tmp_path, rows)) as it:
        blob = get(it, "ann/one")["blob"]
        assert blob["kernelType"] == "notebook"
        assert [cell["source"] for cell in json.loads(blob["source"])["cells"]] == ["# In words\n"]
        assert get(it, "ann/one", versionLabel="v1")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("DATE_RUN", ["ann/one", "ann/three", "ann/two"]),
        ("VOTE_COUNT", ["ann/two", "ann/one", "ann/three"]),
        (8, ["ann/two", "ann/one", "ann/three"]),
    ],
)
def test_kernels_come_in_the_order_that_is_asked_for(tmp_path: Path, order: str | int, expected: list[str]) -> None:
    rows = [
        kernel(1, "ann/one", 1, "2020-01-03T00:00:00Z"),
        kernel(2, "ann/two", 1, "2020-01-04T00:00:00Z"),
        kernel(3, "ann/three", 1, "2020-01-05T00:00:00Z"),
        kernel(4, "ann/one", 2, "2020-01-06T00:00:00Z"),
    ]
    readings = [
        {"target": "kernel", "id": 2, "at": "2020-01-05T00:00:00Z", "votes": 9},
        {"target": "kernel", "id": 4, "at": "2020-01-07T00:00:00Z", "votes": 5},
        {"target": "kernel", "id": 3, "at": "2020-01-20T00:00:00Z", "votes": 99},
    ]
    with served(with_kernels(tmp_path, rows, readings)) as it:
        assert refs(it, sortBy=order) == expected


def test_kernels_are_filtered(tmp_path: Path) -> None:
    rows = [
        kernel(1, "ann/one", 1, "2020-01-03T00:00:00Z", language="R", title="Ridge"),
        kernel(2, "bob/two", 1, "2020-01-04T00:00:00Z"),
        kernel(3, "bob/three", 1, "2020-01-05T00:00:00Z", path="kernels/book.ipynb", kind="notebook"),
    ]
    with served(with_kernels(tmp_path, rows)) as it:
        assert refs(it, language="r") == ["ann/one"]
        assert refs(it, user="bob", kernelType="script") == ["bob/two"]
        assert refs(it, kernelType="notebook", language="all") == ["bob/three"]
        assert (refs(it, search="ridge"), refs(it, group="PROFILE")) == (["ann/one"], [])
        answer = it.client.post(f"{KERNELS}/ListKernels", sortBy="NONSENSE")
        assert answer.status_code == 400


def test_kernels_come_at_most_100_a_page(tmp_path: Path) -> None:
    rows = [
        kernel(number, f"ann/k{number:03d}", 1, f"2020-01-03T{number // 60:02d}:{number % 60:02d}:00Z")
        for number in range(1, 131)
    ]
    with served(with_kernels(tmp_path, rows)) as it:
        first = it.client.ask(f"{KERNELS}/ListKernels", competition="tiny-table", pageSize=500, sortBy="DATE_RUN")
        assert len(first["kernels"]) == 100
        rest = refs(it, pageSize=500, sortBy="DATE_RUN", pageToken=first["nextPageToken"])
        assert (len(rest), rest[-1]) == (30, "ann/k001")
        assert len(refs(it, page=2, pageSize=100)) == 30
        assert refs(it, page=3, pageSize=100) == []
        assert len(refs(it)) == 20


def test_every_version_can_be_read_back_at_its_time(tmp_path: Path) -> None:
    rows = [kernel(number, "ann/one", number, f"2020-01-0{number}T00:00:00Z") for number in range(1, 6)]
    with served(with_kernels(tmp_path, rows), at=datetime(2020, 1, 1, tzinfo=UTC)) as it:
        for number in range(1, 6):
            found = get(it, "ann/one")["metadata"]
            assert (found["currentVersionNumber"], refs(it)) == (number, ["ann/one"])
            it.clock.pass_by(days=1)
