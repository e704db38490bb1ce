"""What public kernels have written: fetched from the stand-in site, and never submitted as ours."""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bot.live.services import Shared
from scrapers.kaggle.outputs import PublicOutputs
from scrapers.snapshots.snapshot import Snapshot
from tests.bot.live.site_parts import shared
from tests.bot.simulator.site.parts import Served, served, tiny

OUTPUT = "id,label\nr0240,0.1\n"


def published(folder: Path) -> Snapshot:
    """Return the small competition, whose kernel has left its submission, and a second version of it another one."""
    snapshot = tiny(folder)
    community = snapshot.path / "community"
    (row,) = map(json.loads, (community / "kernels.jsonl").read_text().splitlines())
    rows = []
    for number, at in ((1, row["created_at"]), (2, "2020-01-15T00:00:00Z")):
        name = f"outputs/v{number}/submission.csv"
        (community / name).parent.mkdir(parents=True)
        (community / name).write_text(OUTPUT.replace("0.1", f"0.{number}"))
        rows.append(row | {"id": f"2{number}", "version": number, "created_at": at, "output": name})
    (community / "kernels.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return Snapshot.load(snapshot.path, {"log_loss": "minimize"})


@asynccontextmanager
async def collecting(site: Served, folder: Path) -> AsyncIterator[tuple[Shared, PublicOutputs]]:
    async with shared(site, folder / "state") as here:
        out = folder / "outputs"
        made = PublicOutputs(
            here.client,
            here.store,
            site.competition.slug,
            out,
            "submission.csv",
            max_file_bytes=1_000,
            max_bytes=10_000,
        )
        await here.poller.cycle(site.competition.slug)
        yield here, made


def kept(made: PublicOutputs) -> dict[str, str]:
    return {path.relative_to(made.folder).as_posix(): path.read_text() for path in sorted(made.folder.rglob("*.csv"))}


@pytest.mark.integration
async def test_files_of_public_kernels_are_fetched_once_and_again_when_they_are_run_anew(tmp_path: Path) -> None:
    with served(published(tmp_path)) as site:
        async with collecting(site, tmp_path) as (here, made):
            assert (await made.collect(5), await made.collect(5)) == (1, 0)
            assert list(kept(made).values()) == [OUTPUT]
            asked = site.site.requests["ListKernelSessionOutput"]
            site.clock.pass_by(days=6)
            await here.poller.cycle(site.competition.slug)
            assert (await made.collect(5), await made.collect(5)) == (1, 0)
            assert list(kept(made).values()) == [OUTPUT, OUTPUT.replace("0.1", "0.2")], "the earlier one is kept"
            assert site.site.requests["ListKernelSessionOutput"] == asked + 1
            assert all(name.startswith("ann__linear/") for name in kept(made))


@pytest.mark.integration
async def test_a_file_that_is_too_large_is_left_there_and_the_oldest_go_where_there_are_too_many(tmp_path) -> None:
    with served(published(tmp_path)) as site:
        async with collecting(site, tmp_path) as (here, made):
            assert await replace(made, max_file_bytes=len(OUTPUT) - 1).collect(5) == 1
            assert kept(made) == {}
            assert list(made.folder.rglob("*.part")) == []
            site.clock.pass_by(days=6)
            await here.poller.cycle(site.competition.slug)
            old = made.folder / "old" / "1-0.csv"
            old.parent.mkdir()
            old.write_text("x" * 500)
            os.utime(old, (0, 0))
            await replace(made, max_bytes=len(OUTPUT) + 10).collect(5)
            assert list(kept(made).values()) == [OUTPUT.replace("0.1", "0.2")]


async def test_a_kernel_that_shows_nothing_is_asked_once(tmp_path: Path) -> None:
    with served(tiny(tmp_path)) as site:
        async with collecting(site, tmp_path) as (_, made):
            assert (await made.collect(5), await made.collect(5), kept(made)) == (1, 0, {})
