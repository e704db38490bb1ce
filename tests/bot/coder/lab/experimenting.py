"""Calls of `lab log` without a sandbox: labs that are open in a run, and what a formula predicts."""

import csv
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bot.coder.lab.calls import LabAnswer, LabCall, Log
from bot.coder.lab.commands import Commands
from bot.coder.lab.leases import LabLease
from bot.coder.lab.scripts import ScoredScripts
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.experiments import ExperimentLog
from bot.engine.strategy import Remaining
from bot.execution.record import GUARDED
from state.labs import open_lab
from state.progress import create_node
from tests.bot.coder.lab.scripted import FewLabs
from tests.bot.engine.parts import RUN

TABLES = {"oof": "train", "validation": "validation", "test": "test"}


async def sync_work_folder() -> None:
    """Do nothing: these labs have no sandbox."""


async def two_labs(context: RunContext) -> tuple[Commands, Commands]:
    """Open two labs, as a search does, and return what answers their calls."""
    await context.decisions.ask(FewLabs(2), load_tree(context), Remaining(None, None, None, None), 2)
    for number in (2, 3):
        with context.store.write() as tx:
            create_node(tx, RUN, id=number, action="draft")
            open_lab(tx, RUN, number, draft_id=None, parents=(), title="a test")
    return lab(context, 2), lab(context, 3)


def lab(context: RunContext, number: int) -> Commands:
    """Return what answers a lab's calls."""
    scripts = ScoredScripts(context, number, None, (), "a test", lambda: 60.0, context.executor.folder.labs)
    lease = LabLease(context.executor.leasing)
    return Commands(context, number, scripts, lambda: 60.0, lambda: "5 replies", lease, tuple, sync_work_folder)


def experiments(context: RunContext) -> ExperimentLog:
    """Return the run's experiments."""
    assert context.experiments is not None
    return context.experiments


async def predictions(context: RunContext, strength: float) -> dict[str, NDArray[np.float64]]:
    """Return what a formula predicts; a strength of 1 is right."""
    data = (await context.executor.view(GUARDED)).data
    made = {}
    for role, table in TABLES.items():
        with (data / f"{table}.csv").open(newline="") as file:
            x = np.array([2 * float(row["a"]) - float(row["b"]) for row in csv.DictReader(file)])
        made[role] = 1 / (1 + np.exp(-strength * x))
    return made


async def log(
    commands: Commands,
    name: str,
    strength: float,
    *,
    without: tuple[str, ...] = (),
    instead: Mapping[str, NDArray[np.float64]] | None = None,
    sources: Mapping[str, str | bytes] | None = None,
    **arguments: Any,
) -> LabAnswer:
    """Log what the formula predicts, without some arrays, or with others instead."""
    sent = commands.context.executor.folder.path / "sent"
    sent.mkdir(exist_ok=True)
    files = {}
    for role, values in (await predictions(commands.context, strength) | dict(instead or {})).items():
        if role not in without:
            np.save(sent / f"{role}.npy", values)
            files[role] = sent / f"{role}.npy"
    texts = {}
    for file, content in (sources or {}).items():
        texts[file] = sent / file
        texts[file].write_bytes(content.encode() if isinstance(content, str) else content)
    call = LabCall(Log(name, **arguments), files=files, sources=texts)  # type: ignore[arg-type] # roles, each of them
    return await commands(call)
