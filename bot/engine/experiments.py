"""The experiments of a run: scored from arrays, each a node, laid out in one folder that all labs share."""

import asyncio
import csv
import re
import shutil
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import get_args

from bot.engine.decisions import Decisions
from bot.engine.experiment import Experiment, Kind, all_experiments, rank_experiments
from bot.engine.strategy import Action
from bot.engine.tree import BASELINE, BASELINE_NAME
from bot.evaluation.answers.experiments import Arrays, PresentEnsemble, Reference, Role, ScoredExperiment
from bot.evaluation.client.worker import Worker
from bot.execution.executor import Executor
from bot.execution.record import GUARDED, SCORED_EXPERIMENT, experiment_folder
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission
from state.experiments import add_experiment, replace_command, replace_result, withdraw_node
from state.files import replacing
from state.progress import create_node, end_node, update_node
from state.store import Store
from state.tables import ExperimentRow, Node

ROLES: tuple[Role, ...] = get_args(Role)
MOST_CHECKS = 100
"""Answers of the check against leaks that one run gives: each says a little about the labels of validation rows."""
MOST_BLAMES = 3
"""Answers after which no more are given, as those that blame say more of the labels than others (measured by probing)."""
STACK_SOURCE = "experiments/"
"""Text in a logged file by which an experiment counts as a stack: one that reads what others predicted."""
_MAX_EXPERIMENTS = 2_000
"""Of a run."""
_KEPT_BYTES = 512_000_000
_KEPT_LEAST, _KEPT_BEST = 20, 10
"""Newest and best experiments whose arrays are kept, whatever room they take."""


@dataclass(frozen=True)
class Logged:
    """What a lab hands over for one experiment."""

    name: str
    files: Mapping[Role, Path]
    """Arrays; moved away from where they are."""
    note: str = ""
    uses: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    """Texts of the files that made it, by name."""
    retrain: str = ""
    seconds: float | None = None
    compare_to: str = ""
    check: bool = False
    kind: Kind = "model"
    families: tuple[str, ...] = ()
    """Families of models that its files and note show."""


@dataclass(frozen=True)
class LabPosition:
    """Who logs: the lab and where it stands."""

    lab: int
    draft_id: int | None
    parents: tuple[int, ...]
    title: str
    turn: int


def nodes_of_lab(store: Store, run_id: str, decisions: Decisions, lab: int) -> list[int]:
    """Return the nodes that a lab has used: its experiments and scored scripts, oldest first.

    A lab's first node is there from its opening, and waits for an experiment or a script.
    """
    with store.read() as session:
        rows = [session.get(Node, (run_id, number)) for number in decisions.of_lab(lab)]
        return [
            row.id
            for row in rows
            if row is not None
            and (row.id != lab or row.code_sha or session.get(ExperimentRow, (run_id, lab)) is not None)
        ]


@dataclass
class ExperimentLog:
    """Takes in experiments. Logging the same arrays under the same name again returns the first answer."""

    run_id: str
    card: TaskCard
    seed: int
    store: Store
    decisions: Decisions
    executor: Executor
    worker: Worker
    """Scores; one of its own, so that no answer waits for other work."""
    model_name: str
    on_logged: Callable[[], None] = lambda: None
    numbering: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held from counting a lab's nodes until the next one is there."""

    @property
    def folder(self) -> Path:
        """The folder that all labs see, read-only."""
        return self.executor.folder.experiments

    def all(self) -> list[Experiment]:
        """Return the run's experiments in the order in which they were logged."""
        return all_experiments(self.store, self.run_id)

    def unscored(self) -> set[int]:
        """Return the nodes of those without a score that coders may see."""
        return {experiment.node for experiment in self.all() if not experiment.has_score}

    def logged_at(self, node: int) -> datetime | None:
        """Return when an experiment was logged; None where there is none with this node."""
        with self.store.read() as session:
            row = session.get(ExperimentRow, (self.run_id, node))
        return None if row is None else row.logged_at

    def best(self) -> Experiment | None:
        """Return the best complete experiment by its score out of fold; the engine's ensembles are none."""
        ranking = self.ranking()
        return ranking[0] if ranking else None

    def ranking(self) -> list[Experiment]:
        """Return complete experiments, best first, without the engine's ensembles."""
        complete = (e for e in self.all() if e.complete and e.kind != "ensemble")
        return rank_experiments(complete, self.card)

    def by_name(self, name: str) -> Experiment:
        """Return an experiment by its name. Raises InvalidSubmission: there is none of this name."""
        by_name = {e.name: e for e in self.all()}
        if name not in by_name:
            raise InvalidSubmission(f"no experiment named {name!r}; `lab board --all` lists them")
        return by_name[name]

    def withdrawn(self) -> frozenset[int]:
        """Return the experiments that were withdrawn, by node."""
        return frozenset(experiment.node for experiment in self.all() if experiment.withdrawn)

    def withdraw(self, name: str, reason: str) -> None:
        """Take an experiment, or the baseline, out of the ensemble and the final selection; raises as `by_name`."""
        node = BASELINE if name == BASELINE_NAME else self.by_name(name).node
        with self.store.write() as tx:
            withdraw_node(tx, self.run_id, node, name, reason)
        self.on_logged()

    async def log(self, logged: Logged, position: LabPosition, ensemble: PresentEnsemble | None) -> Experiment:
        """Score an experiment, keep it as a node, and lay it out for all labs.

        Raises:
            InvalidSubmission: its arrays cannot be scored, or it refers to what is not there.
            InfrastructureFailure: the evaluator failed.
        """
        async with self.numbering:
            experiments = self.all()
            if len(experiments) >= _MAX_EXPERIMENTS:
                raise InvalidSubmission(f"this run has reached its limit of {_MAX_EXPERIMENTS} experiments")
            for name in logged.uses:
                self.by_name(name)
            comparison, reference = self._comparison(logged), self._reference(experiments)
            answers = [e.result.check for e in experiments if e.result.check != "not checked"]
            may_check = len(answers) < MOST_CHECKS and answers.count("gains less than its folds suggest") < MOST_BLAMES
            result = await self.worker.score_experiment(
                await self.executor.fold_view(),
                await self.executor.view(GUARDED),
                logged.files,
                self.executor.folder.bank,
                comparison=None if comparison is None else Reference(comparison.name, comparison.result.arrays),
                reference=None if reference is None else Reference(reference.name, reference.result.arrays),
                ensemble=ensemble,
                check=may_check and logged.kind != "portfolio",
                seed=self.seed,
            )
            twin = next((e for e in experiments if _is_same(e, logged.name, result.arrays)), None)
            if twin is not None:
                return self._completed(twin, logged, result)
            return await self._keep(logged, position, result, {e.name for e in experiments})

    def _comparison(self, logged: Logged) -> Experiment | None:
        """Return what an experiment is compared with: out of fold where it can be, as that tells nothing of withheld labels."""
        folded = "oof" in logged.files
        if not logged.compare_to:
            # Nearly every model is worse than the stack that it may improve.
            stacked = _is_stack(logged)
            comparable = (e for e in self.ranking() if stacked or not e.fitted_on_others)
            return next((e for e in comparable if e.result.arrays.oof or not folded), None)
        comparison = self.by_name(logged.compare_to)
        if folded and not comparison.result.arrays.oof:
            raise InvalidSubmission(f"{comparison.name} has no out-of-fold predictions to compare with")
        return comparison

    def _reference(self, experiments: Sequence[Experiment]) -> Experiment | None:
        """Return the experiment that a gain is measured from in the check against leaks: the best that agrees, else the first."""
        usable = [e for e in experiments if e.complete and not e.fitted_on_others and e.result.arrays.oof]
        agreeing = [e for e in usable if e.result.check == "agrees"]
        best = max(agreeing, key=lambda e: (self.card.oriented(e.result.score), -e.node), default=None)
        return best or next(iter(usable), None)

    def _completed(self, twin: Experiment, logged: Logged, result: ScoredExperiment) -> Experiment:
        """Return an experiment that is known, with test predictions, a command and files if these came later."""
        if twin.result.arrays.test is None and result.arrays.test is not None:
            with self.store.write() as tx:
                replace_result(tx, self.run_id, twin.node, SCORED_EXPERIMENT.dump_python(result, mode="json"))
            _move(logged.files["test"], self.folder / twin.name / _file_of("test", logged.files["test"]))
            self.on_logged()
        if logged.retrain:
            for name, text in logged.sources.items():
                _write_text(self.folder / twin.name / name, text)
            with self.store.write() as tx:
                replace_command(tx, self.run_id, twin.node, logged.retrain, logged.sources)
        return next(e for e in self.all() if e.node == twin.node)

    async def _keep(
        self, logged: Logged, position: LabPosition, result: ScoredExperiment, used_names: set[str]
    ) -> Experiment:
        name, number = logged.name, 2
        while name in used_names or name == BASELINE_NAME:
            name, number = f"{logged.name}-{number}", number + 1
        nodes = nodes_of_lab(self.store, self.run_id, self.decisions, position.lab)
        action = Action("improve", position.parents, position.draft_id, lab=position.lab, look=len(nodes) + 1)
        node = await self.decisions.number_of(action)
        kind = "stack" if _is_stack(logged) else logged.kind
        folder = self._stage(node, logged)
        text = "\n\n".join(f"# {file}\n{source.rstrip()}" for file, source in logged.sources.items())
        plan = f"{position.title}: {name}" + (f": {logged.note}" if logged.note else "")
        with self.store.write() as tx:
            create_node(
                tx,
                self.run_id,
                id=node,
                action="improve" if nodes or position.parents else "draft",
                parents=position.parents,
                draft_id=None if position.draft_id is None else str(position.draft_id),
                model=self.model_name,
            )
            update_node(tx, self.run_id, node, plan=plan, code=text or None, families=logged.families)
            add_experiment(
                tx,
                self.run_id,
                node,
                name=name,
                kind=kind,
                result=SCORED_EXPERIMENT.dump_python(result, mode="json"),
                lab=position.lab,
                turn=position.turn,
                note=logged.note,
                uses=logged.uses,
                sources=logged.sources,
                retrain=logged.retrain,
                seconds=logged.seconds,
            )
            end_node(tx, self.run_id, node, "valid", score=result.score, seconds=logged.seconds)
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)  # a fit's models have a folder of their own
        folder.replace(self.folder / name)
        self.on_logged()
        await asyncio.to_thread(self.write_index)
        return next(e for e in self.all() if e.node == node)

    def _stage(self, node: int, logged: Logged) -> Path:
        """Write an experiment's folder under a hidden name, as it is shown once its row is there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        folder = self.folder / f".{node}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for role, path in logged.files.items():
            _move(path, folder / _file_of(role, path))
        for name, text in logged.sources.items():
            _write_text(folder / name, text)
        return folder

    def write_index(self) -> None:
        """Write `index.csv`: a line for each experiment, the best first."""
        ranking = rank_experiments(self.all(), self.card)
        with replacing(self.folder / "index.csv") as partial, partial.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(("name", "score", "std_error", "kind", "lab", "folds", "uses", "seconds", "note"))
            for experiment in ranking:
                folds = "all" if experiment.result.folds is None else " ".join(map(str, experiment.result.folds))
                seconds = "" if experiment.seconds is None else f"{experiment.seconds:.0f}"
                score = experiment.name, experiment.shown_score, experiment.shown_error, experiment.kind
                table.writerow(
                    (*score, experiment.lab or "", folds, " ".join(experiment.uses), seconds, experiment.note)
                )

    def restore(self) -> None:
        """Finish what a killed bot left half-way: show the folders of known experiments, and remove those of unknown ones."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = {f".{e.node}": e.name for e in self.all()}
        for path in self.folder.glob(".[0-9]*"):
            if path.name in names and not (self.folder / names[path.name]).exists():
                (self.folder / names[path.name]).parent.mkdir(parents=True, exist_ok=True)
                path.replace(self.folder / names[path.name])
            else:
                shutil.rmtree(path, ignore_errors=True)
        self.write_index()

    async def write_submissions(self, worker: Worker, nodes: Container[int] | None = None) -> None:
        """Write the files that experiments (None: all) would hand in, as far as they are missing."""
        view = await self.executor.view(GUARDED)
        for experiment in self.all():
            test = experiment.result.arrays.test
            out = self.executor.folder.executions / experiment_folder(experiment.node) / "submission.csv"
            if (
                test is not None
                and experiment.kind != "ensemble"
                and (nodes is None or experiment.node in nodes)
                and not out.exists()
            ):
                await worker.write_predictions(self.executor.folder.bank / test, view.data, self.card, out)

    def trim(self, members: frozenset[int], most_bytes: int = _KEPT_BYTES) -> None:
        """Remove arrays of the worst experiments, but for `members`, until the rest fits; scores and files stay."""
        ranking = self.ranking()
        newest = [e.node for e in self.all()[-_KEPT_LEAST:]]
        kept_nodes = {*members, *newest, *(e.node for e in ranking[:_KEPT_BEST])}
        used_names = {name for e in self.all() if e.node in kept_nodes for name in e.uses}
        sizes = {e.node: sum(path.stat().st_size for path in _arrays_in(self.folder / e.name)) for e in self.all()}
        room = most_bytes - sum(sizes.values())
        for experiment in reversed(ranking):
            if room >= 0:
                break
            if experiment.node not in kept_nodes and experiment.name not in used_names:
                for path in _arrays_in(self.folder / experiment.name):
                    path.unlink(missing_ok=True)
                room += sizes[experiment.node]


def _is_same(experiment: Experiment, name: str, arrays: Arrays) -> bool:
    """Return whether a known experiment has this name, or one that was numbered for it, and the same predictions.

    Those of the test rows may be missing in either, as they may come later.
    """
    logged = experiment.result.arrays
    is_alike = (logged.oof, logged.validation) == (arrays.oof, arrays.validation)
    is_alike = is_alike and (logged.test is None or arrays.test in (None, logged.test))
    return is_alike and re.fullmatch(rf"{re.escape(name)}(-\d+)?", experiment.name) is not None


def _is_stack(logged: Logged) -> bool:
    """Return whether it names other experiments, or its code reads what they predicted."""
    return bool(logged.uses) or any(STACK_SOURCE in text for text in logged.sources.values())


def _file_of(role: Role, path: Path) -> str:
    return f"{role}{path.suffix or '.npy'}"


def _move(path: Path, target: Path) -> None:
    shutil.move(path, target)
    target.chmod(0o644)  # labs run as another user


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _arrays_in(folder: Path) -> list[Path]:
    return [path for role in ROLES for path in folder.glob(f"{role}.*")]
