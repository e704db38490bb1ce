"""Sealed runs: an experiment's own command, run on all labelled rows in the idle time of labs.

It runs in a copy of its lab's `work/`, as a lab of its own without an engine to ask. There the module `lab` writes the test
predictions that it is given into a file. Only these leave, also where the command fails later, and nobody but the final
selection learns anything of them.
It shares no file with its lab: by a pipe, a socket, a lock or a watch on one, it could tell labels to a process there.

A stack was fitted on its members' predictions out of fold, which cover the lab's rows alone. So it runs on these rows, after
its members, and finds their new test predictions in `experiments/`.

In the first part of a run, commands are tried on rows of the lab, so that a coder learns in time that one fails. A trial sees
nothing that the coder does not.
"""

import asyncio
import hashlib
import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from bot.engine.context import RunContext
from bot.engine.experiment import Experiment
from bot.evaluation.view_names import ViewKind
from bot.execution.record import GUARDED
from sandbox.collect import collect
from sandbox.lab import LabDied, LabLimits, LabRequest
from state.errors import BotError, InvalidSubmission
from state.experiments import record_trial
from state.steps import Key, StepKind
from state.store import Transaction

_SEALED, _KEPT_FOLDER = "LAB_SEALED", ".sealed"
"""Variable by which the module `lab` knows that there is no engine to ask, and the folder in work/ that it then writes to."""
_ARRAYS = ("test.npy", "test.csv")
_FROM = 0.5
"""Share of the run after which sealed runs begin: earlier members of the ensemble are soon replaced. Trials end there."""
_BEST = 3
"""The best single experiments that are run beside the ensemble's members."""
_LONGER, _MIN_SECONDS, _SHARE = 10.0, 300.0, 0.3
"""Processor seconds in multiples of the experiment's own, their least (seconds), and the most, as a share of the run."""
_BESIDE_LABS = 90.0, 0.03
"""Processor seconds, and their share of the run, that a command has beside labs; a longer one waits for their end, lest
short ones wait for it."""
_MEMORY = 0.25
"""Share of a script's memory for a sealed run beside labs; one that needs more waits for their end."""
_MEMORY_ERROR = re.compile(r"MemoryError|Unable to allocate|[Cc]annot allocate memory|bad_alloc|(out of|for|of) memory")
_KILLED = 137
_PAUSE = 2.0
_ARRAY_BYTES = 512_000_000
_WORK_BYTES = 4_000_000_000
"""That a copy of work/ may take."""
_SOURCE = "/lab/source"
_FOLDS = ("folds.csv", "folds.json", "classes.json")
# Its own autogroup has a weight beside the lab's whatever its processes' priorities are.
_IDLE = """import os, sys
os.setsid() if os.getpid() != os.getsid(0) else None
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
try:
    open("/proc/self/autogroup", "w").write("19")
except OSError:
    pass
os.execvp("bash", ["bash", "-c", sys.argv[1]])
"""


class _CommandEnd(NamedTuple):
    reason: str | None
    """Why its output does not count; None: it may."""
    over_limit: bool = False
    """Whether it needed more memory or time than it had."""


class _Postponed(Exception):
    """A sealed run needs more memory or time than it may have beside labs."""


@dataclass(frozen=True)
class Retrained:
    """What came of a sealed run."""

    file: str | None
    """The bank's file with the test predictions; None: they are not used."""
    reason: str
    """Why not, in one sentence; empty where they are used."""


_OVERTAKES = 2.0
"""Times its weight with which an experiment ends another one's run."""

SEALED_RUN = StepKind("sealed", Retrained)


@dataclass(frozen=True)
class RetrainTrial:
    """What came of a command that was tried on rows of its lab."""

    command: str
    """Identifies it; see `_command_id`."""
    reason: str
    """Why it failed, in one sentence; empty where it did not."""


TRIAL = StepKind("retrain_trial", RetrainTrial)


def retrained(context: RunContext, node: int) -> Retrained | None:
    """Return what came of an experiment's sealed run; None: there was none."""
    return context.steps.find(SEALED_RUN, Key(node))


def retrainable_members(context: RunContext) -> list[Experiment]:
    """Return the ensemble's members that can be retrained.

    Whether they were, a coder must not know: its commands see validation labels there, and when one ends could tell them.
    """
    if context.blend is None or context.experiments is None:
        return []
    return [e for e in context.experiments.all() if e.node in context.blend.weights and _may_run(e)]


@dataclass
class SealedRuns:
    """The sealed runs of one run."""

    context: RunContext
    labs_ended: bool = False
    """Whether what is left of the run's time is theirs."""
    _postponed: set[int] = field(default_factory=set)
    """Experiments that wait for the memory and the time of labs, by node."""

    async def keep_running(self) -> None:
        """Run what is due, one at a time, until cancelled."""
        context = self.context
        while True:
            due = self._due()
            if due is None:
                if (untried := self._untried()) is not None:
                    await self._try(untried)
                await asyncio.sleep(_PAUSE)
                continue
            run = asyncio.create_task(context.steps.once(SEALED_RUN, partial(self._step, due), Key(due.node)))
            try:
                while not run.done() and not self._is_overtaken(due):
                    await asyncio.wait({run}, timeout=_PAUSE)
            finally:
                if not run.done():
                    run.cancel()
                    await asyncio.gather(run, return_exceptions=True)
            if not run.cancelled():
                try:
                    await run
                except _Postponed:
                    self._postponed |= {due.node, *(e.node for e in self._of_same_code(due))}

    def _is_overtaken(self, running: Experiment) -> bool:
        """Return whether to end a run: its experiment was withdrawn, or one with twice its weight in the ensemble waits."""
        context, weights = self.context, {} if self.context.blend is None else self.context.blend.weights
        try:
            if context.experiments is not None and running.node in context.experiments.withdrawn():
                return True
            due = self._due()
        except BotError:  # a database that is unavailable for a moment ends no run
            return False
        if due is None or due.node == running.node:
            return False
        weight = abs(weights.get(due.node, 0.0))
        return weight > 0 and weight >= _OVERTAKES * abs(weights.get(running.node, 0.0))

    async def finish(self, interrupted: asyncio.Event) -> None:
        """Once labs have ended, wait until nothing is due, as long as the run has time and is not interrupted."""
        self.labs_ended = True
        with suppress(TimeoutError):
            async with asyncio.timeout(self.context.budget.usable(None)):
                while self._due() is not None and not interrupted.is_set():
                    await asyncio.sleep(_PAUSE)

    def _due(self) -> Experiment | None:
        """Return the experiment to run next: what would be handed in now first.

        That is the ensemble, its heaviest member first, or else the best single experiment, such as a coder's own stack.
        """
        if self.context.experiments is None or (self._is_early and not self.labs_ended):
            return None
        postponed = set[int]() if self.labs_ended else self._postponed
        run_nodes = {key.node for key in self.context.steps.all(SEALED_RUN)} | postponed
        due = next((e for e in self._in_order() if e.node not in run_nodes), None)
        if due is None or due.kind == "portfolio":
            return due
        # The last one that the same code has logged finds all that the code has left for it, and logs the others again.
        same_code = [e for e in self._of_same_code(due) if e.sources != due.sources and e.node not in run_nodes]
        return max([due, *same_code], key=lambda e: e.node)

    @property
    def _is_early(self) -> bool:
        return self.context.budget.elapsed.wall() < _FROM * self.context.budget.seconds

    def _in_order(self) -> Iterator[Experiment]:
        """Yield the experiments that can be retrained, those first that would be handed in now."""
        log, blend = self.context.experiments, self.context.blend
        if log is None:
            return
        by_node = {e.node: e for e in log.all()}
        best = log.ranking()[:_BEST]
        members = [] if blend is None else sorted(blend.weights, key=lambda node: -abs(blend.weights[node]))
        nodes = [*members, *(e.node for e in best)]
        oriented = log.card.oriented
        if blend is not None and best and oriented(best[0].result.score) > oriented(blend.score.value):
            nodes = [best[0].node, *nodes]
        by_name = {e.name: e for e in by_node.values()}
        for node in nodes:
            if node in by_node:
                yield from filter(_may_run, self._with_members(by_node[node], by_name))

    def _untried(self) -> Experiment | None:
        """Return an experiment whose command was not tried on rows of its lab; None too once sealed runs have begun."""
        if not self._is_early or self.labs_ended:
            return None
        commands = {trial.command for trial in self.context.steps.all(TRIAL).values()}
        return next((e for e in self._in_order() if e.kind != "portfolio" and _command_id(e) not in commands), None)

    async def _try(self, experiment: Experiment) -> None:
        """Run a command on rows of its lab, whose coder is told where it fails."""
        context, command = self.context, _command_id(experiment)

        async def run() -> RetrainTrial:
            try:
                return RetrainTrial(command, (await self._run(experiment, is_trial=True)).reason)
            except (BotError, OSError) as error:
                return RetrainTrial(command, str(error))

        def save(tx: Transaction, trial: RetrainTrial) -> None:
            record_trial(tx, context.run_id, experiment.node, experiment.name, experiment.lab, trial.reason)

        earlier = context.steps.all(TRIAL, experiment.node)
        await context.steps.once(TRIAL, run, Key(experiment.node, attempt=len(earlier)), save=save)

    def _with_members(self, experiment: Experiment, by_name: Mapping[str, Experiment]) -> Iterator[Experiment]:
        """Yield what an experiment is built on, as far as there is time for it and for the experiment, and then itself."""
        if experiment.kind == "stack" and experiment.retrain:
            room = self.context.budget.usable(None) - (experiment.seconds or 0.0) if self.labs_ended else math.inf
            for name in experiment.uses:
                member = by_name.get(name)
                if member is not None and member.node < experiment.node and (member.seconds or 0.0) < room:
                    yield from self._with_members(member, by_name)
        yield experiment

    async def _step(self, experiment: Experiment) -> Retrained:
        try:
            return await self._run(experiment)
        except (BotError, OSError) as error:
            return Retrained(None, f"its sealed run failed: {error}")

    async def _run(self, experiment: Experiment, *, is_trial: bool = False) -> Retrained:
        context, executor = self.context, self.context.executor
        folder = executor.folder.labs / f"sealed{experiment.node}"
        shutil.rmtree(folder, ignore_errors=True)
        work = executor.folder.labs / f"lab{experiment.lab}" / "work"
        work_name = f"trying to retrain {experiment.name}" if is_trial else f"fitting {experiment.name} on all rows"
        context.say(f"in idle time: {work_name}")
        try:
            for name in ("work", "logs", "socket"):
                (folder / name).mkdir(parents=True)
            if experiment.kind == "portfolio" and context.fits is not None:
                return await self._keep(experiment, await context.fits.fit_on_all_rows(experiment, folder))
            limits, labs_ended = executor.settings.limits, self.labs_ended
            memory = int((1.0 if labs_ended else _MEMORY) * limits.memory_bytes)
            # Copied inside: outside, a link in a running lab's work/ could lead anywhere. No label is in sight there.
            copying = LabRequest(
                f"{context.run_id}-sealed{experiment.node}",
                folder,
                {"source": work, "experiments": executor.folder.experiments},
                LabLimits(memory, limits.written_bytes + _WORK_BYTES, limits.processes),
                redactor=context.store.redactor,
            )
            mounts = await self._mounts(experiment, folder, "trial" if is_trial else "sealed")
            request = replace(copying, mounts=mounts, environment={_SEALED: f"/lab/work/{_KEPT_FOLDER}"})
            with executor.reported_work(work_name):
                end = await self._command(experiment, copying, request)
            # Logged again it has the number that it has in the run, or none.
            names = (experiment.name, _first_name(experiment.name))
            file = await _copied_array(names, folder, beside_scripts=end.reason is None)
            if is_trial:
                return Retrained(None, await self._fault_of_trial(experiment, end, file))
            for sibling in self._siblings(experiment):
                await self._take_logged(sibling, folder)
            if file is None and end.over_limit and not labs_ended:
                raise _Postponed
            if file is None and end.reason is not None:
                return Retrained(None, end.reason)
            return await self._keep(experiment, file)
        finally:
            await asyncio.to_thread(shutil.rmtree, folder, True)

    def _siblings(self, experiment: Experiment) -> list[Experiment]:
        """Return the other experiments with the same command in the same lab, as far as they are due.

        Their files may differ, such as a table of parameters that grows from one to the next; a name that was used again
        is then another experiment's.
        """
        log, run_nodes = self.context.experiments, {key.node for key in self.context.steps.all(SEALED_RUN)}
        return [
            e
            for e in ([] if log is None else log.all())
            if (e.lab, e.retrain, e.kind) == (experiment.lab, experiment.retrain, experiment.kind)
            and (e.sources == experiment.sources or _first_name(e.name) != _first_name(experiment.name))
            and not e.withdrawn
            and e.node not in {*run_nodes, experiment.node}
        ]

    def _of_same_code(self, experiment: Experiment) -> list[Experiment]:
        """Return those of its siblings whose scripts are the same."""
        return [e for e in self._siblings(experiment) if _code(e) == _code(experiment)]

    async def _take_logged(self, sibling: Experiment, folder: Path) -> None:
        """Keep what the command of another experiment has logged for this one; without that it is run by itself later."""
        file = await _copied_array((sibling.name,), folder, beside_scripts=False)
        if file is None or (outcome := await self._keep(sibling, file)).file is None:
            return

        async def result() -> Retrained:
            return outcome

        await self.context.steps.once(SEALED_RUN, result, Key(sibling.node))

    async def _mounts(self, experiment: Experiment, folder: Path, view: ViewKind) -> dict[str, Path]:
        """Return what a command finds: a view's data and folds, and for a stack the lab's own, and the experiments."""
        executor, cut = self.context.executor, await self.context.executor.fold_view()
        mounts = dict[str, Path]()
        if experiment.kind == "stack" and cut is not None:
            mounts["experiments"] = folder / "experiments"
            await asyncio.to_thread(_lay_out, executor.folder.experiments, self._refits, mounts["experiments"])
            data, folds = (await executor.view(GUARDED)).data, cut.data
        else:
            data, folds = (await executor.view(view)).data, await executor.views.folds_of(view)
        return {"data": data, **mounts, **{name: folds / name for name in _FOLDS if (folds / name).is_file()}}

    @property
    def _refits(self) -> Path:
        """The folder of test predictions made on all rows, a folder for each experiment."""
        return self.context.executor.folder.labs / ".refits"

    async def _command(self, experiment: Experiment, copying: LabRequest, request: LabRequest) -> "_CommandEnd":
        """Copy the lab's files, and run the experiment's command on them."""
        context = self.context
        limit = _SHARE * context.budget.seconds
        # Of a processor: a coder may keep the cores busy for long.
        seconds = min(limit, max(_MIN_SECONDS, _LONGER * (experiment.seconds or limit)))
        if not self.labs_ended:
            beside_labs = max(_BESIDE_LABS[0], _BESIDE_LABS[1] * context.budget.seconds, experiment.seconds or 0.0)
            seconds = min(seconds, beside_labs)
        try:
            async with context.executor.leasing.hold_idle() as lease:
                for place, lines in (
                    (copying, _copying(experiment)),
                    (request, [f"ulimit -t {seconds:.0f}", experiment.retrain]),
                ):
                    command = f"exec python -c {quote(_IDLE)} {quote(chr(10).join(lines))}"
                    seconds_left = max(1.0, context.budget.usable(None))
                    # A single core that is shared with public notebooks and fits would bring none of them to its end.
                    needs_quiet = self.labs_ended or len(lease.cpus) == 1
                    quiet = context.executor.quiet(lease, from_all=True) if needs_quiet else nullcontext()
                    async with context.executor.open_lab(place) as lab:
                        with quiet:
                            result = await lab.run(1, command, seconds=seconds_left, cpus=lease.cpus)
        except LabDied as error:
            return _CommandEnd(f"its sandbox failed: {error}", over_limit=bool(_MEMORY_ERROR.search(str(error))))
        if result.timed_out:
            return _CommandEnd("the run ended before its command finished")
        if result.exit_code != 0:
            last = result.output.strip().rpartition("\n")[2][:200]
            over_limit = result.exit_code == _KILLED or bool(_MEMORY_ERROR.search(f"{last} {result.notice or ''}"))
            reason = f"its command exited with status {result.exit_code}: {last}"
            return _CommandEnd(reason, over_limit)
        return _CommandEnd(None)

    async def _fault_of_trial(self, experiment: Experiment, end: "_CommandEnd", file: Path | None) -> str:
        """Return what is wrong with what a command did on rows of its lab, by their labels alone; empty: nothing."""
        context, arrays = self.context, experiment.result.arrays
        log, executor = context.experiments, context.executor
        if file is None and end.over_limit:
            return (
                "it needs more time or memory than commands get while labs run, so it waits until all labs have ended"
            )
        if file is None:
            return end.reason or f"it logged no test predictions as {experiment.name}"
        folds = await executor.fold_view()
        if log is None or folds is None or not experiment.complete or arrays.oof is None or arrays.test is None:
            return ""
        bank = executor.folder.bank
        try:
            name = await log.worker.take_test(folds, folds, file, bank, arrays.oof, context.seed)
            agreement = await log.worker.agree(folds, bank / name, bank / arrays.test, bank / arrays.oof, ())
        except InvalidSubmission as error:
            return f"its test predictions cannot be used: {error}"
        return "" if agreement.agrees else f"its test predictions differ from those logged: {agreement.message}"

    async def _keep(self, experiment: Experiment, file: Path | None) -> Retrained:
        """Keep the predictions of a sealed run where they agree with the experiment's own."""
        context, arrays = self.context, experiment.result.arrays
        executor, log = context.executor, context.experiments
        if log is None or file is None or arrays.test is None or arrays.validation is None:
            return Retrained(None, "its command wrote no test predictions")
        view, bank = await executor.view(GUARDED), executor.folder.bank
        try:
            folds = await executor.fold_view()
            name = await log.worker.take_test(folds, view, file, bank, arrays.oof, context.seed)
            agreement = await log.worker.agree(view, bank / name, bank / arrays.test, bank / arrays.validation, ())
        except InvalidSubmission as error:
            return Retrained(None, f"its test predictions cannot be used: {error}")
        if not agreement.agrees:
            return Retrained(None, f"its test predictions differ too much from those logged: {agreement.message}")
        target = self._refits / experiment.name / file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        await asyncio.to_thread(shutil.copyfile, file, target)
        target.chmod(0o644)  # labs run as another user
        context.say(f"{experiment.name}: fitted on all rows")
        return Retrained(name, "")


def _first_name(name: str) -> str:
    """Return the name under which an experiment was logged, before it was numbered."""
    return re.sub(r"-\d+$", "", name)


def _code(experiment: Experiment) -> dict[str, str]:
    """Return the hashes of an experiment's scripts, without those of its other files."""
    return {name: sha for name, sha in experiment.sources.items() if name.endswith(".py")}


def _command_id(experiment: Experiment) -> str:
    """Return what tells a command, with the scripts of its lab that it runs, from others."""
    parts = [experiment.lab, experiment.retrain, sorted(_code(experiment).items())]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _may_run(experiment: Experiment) -> bool:
    return not experiment.withdrawn and (bool(experiment.retrain) or experiment.kind == "portfolio")


def _lay_out(experiments: Path, refits: Path, target: Path) -> None:
    """Copy all experiments into a folder, with the test predictions in `refits` in place of those that were logged."""
    shutil.copytree(experiments, target, ignore=shutil.ignore_patterns(".*"))
    for file in refits.rglob("test.*"):
        shutil.copyfile(file, target / file.relative_to(refits))


async def _copied_array(names: Sequence[str], folder: Path, *, beside_scripts: bool) -> Path | None:
    """Return the test predictions that a sealed run logged under a name, or left beside its scripts, copied out of `work/`."""
    target, work = folder / "taken" / names[0], folder / "work"
    target.mkdir(parents=True)
    for place in (*(work / _KEPT_FOLDER / name for name in names), *([work] if beside_scripts else [])):
        if place.is_dir():
            collection = await asyncio.to_thread(collect, place, _ARRAYS, target, cap=_ARRAY_BYTES)
            if collection.files:
                return next(iter(collection.files.values()))
    return None


def _copying(experiment: Experiment) -> list[str]:
    """Return the commands that bring work/ into a state in which the experiment can be made again."""
    lines = [f"cp -r --no-preserve=ownership {_SOURCE}/. . 2>/dev/null"]
    for name in experiment.sources:
        lines.append(f"mkdir -p {quote(str(Path(name).parent))}")
        lines.append(f"cp {quote(f'/lab/experiments/{experiment.name}/{name}')} {quote(name)}")
    return [*lines, f"rm -rf {_KEPT_FOLDER} {' '.join(_ARRAYS)}"]
