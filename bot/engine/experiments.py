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
from bot.engine.experiment import Experiment, Kind, all_experiments
from bot.engine.strategy import Action
from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.experiments import Arrays, PresentEnsemble, Reference, Role, ScoredExperiment
from bot.evaluation.client.worker import Worker
from bot.execution.executor import Executor
from bot.execution.record import GUARDED, SCORED_EXPERIMENT, experiment_folder
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission
from state.experiments import add_experiment, replace_result, withdraw_experiment
from state.files import replacing
from state.progress import create_node, end_node, update_node
from state.store import Store
from state.tables import ExperimentRow, Node

ROLES: tuple[Role, ...] = get_args(Role)
MOST_CHECKS = 100
"""Answers of the check against leaks that one run gives: each says a little about the labels of validation rows."""
MOST_BLAMES = 3
"""Answers after which no more are given, as those that blame say more of the labels than others (measured by probing)."""
_MOST, _MOST_WITHHELD = 2_000, 200
"""Experiments of a run, and those without predictions out of fold: each rounded score says a little about labels."""
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
    """Called when an experiment was logged."""
    numbering: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held from counting a lab's nodes until the next one is there."""

    @property
    def folder(self) -> Path:
        """The folder that all labs see, read-only."""
        return self.executor.folder.experiments

    def all(self) -> list[Experiment]:
        """Return the run's experiments in the order in which they were logged."""
        return all_experiments(self.store, self.run_id)

    def logged_at(self, node: int) -> datetime | None:
        """Return when an experiment was logged; None where there is none with this node."""
        with self.store.read() as session:
            row = session.get(ExperimentRow, (self.run_id, node))
        return None if row is None else row.logged_at

    def best(self) -> Experiment | None:
        """Return the best complete experiment by its score out of fold; the engine's ensembles are none."""
        ranked = self.ranked()
        return ranked[0] if ranked else None

    def ranked(self) -> list[Experiment]:
        """Return complete experiments, best first, without the engine's ensembles."""
        complete = [one for one in self.all() if one.complete and one.kind != "ensemble"]
        return sorted(complete, key=lambda one: (-self.card.oriented(one.result.score), one.node))

    def named(self, name: str) -> Experiment:
        """Return an experiment by its name. Raises InvalidSubmission: there is none of this name."""
        known = {one.name: one for one in self.all()}
        if name not in known:
            raise InvalidSubmission(f"there is no experiment {name!r}; `lab board --all` lists them")
        return known[name]

    def withdraw(self, name: str, why: str) -> None:
        """Take an experiment out of the ensemble and the choice of what is handed in; raises as `named`."""
        experiment = self.named(name)
        with self.store.write() as tx:
            withdraw_experiment(tx, self.run_id, experiment.node, why)
        self.on_logged()

    async def log(self, logged: Logged, position: LabPosition, ensemble: PresentEnsemble | None) -> Experiment:
        """Score an experiment, keep it as a node, and lay it out for all labs.

        Raises:
            InvalidSubmission: its arrays cannot be scored, or it refers to what is not there.
            InfrastructureFailure: the evaluator failed.
        """
        async with self.numbering:
            known = self.all()
            if len(known) >= _MOST:
                raise InvalidSubmission(f"{_MOST} experiments were logged, which is the most that a run keeps")
            if "oof" not in logged.files and sum(not one.result.arrays.oof for one in known) >= _MOST_WITHHELD:
                raise InvalidSubmission(
                    f"{_MOST_WITHHELD} experiments without predictions out of fold were logged, the most of a run: add --oof"
                )
            for name in logged.uses:
                self.named(name)
            against = self._against(logged)
            reference = self._reference(known)
            folds, view = await self.executor.fold_view(), await self.executor.view(GUARDED)
            result = await self._score(folds, view, logged, against, reference, ensemble, known)
            same = next((one for one in known if _is_same(one, logged.name, result.arrays)), None)
            if same is not None:
                return self._completed(same, logged, result)
            return await self._keep(logged, position, result, {one.name for one in known})

    def _against(self, logged: Logged) -> Experiment | None:
        """Return what an experiment is compared with: out of fold where it can be, as that tells nothing of withheld labels."""
        folded = "oof" in logged.files
        if not logged.compare_to:
            # Nearly every model is worse than the stack that it may improve.
            stacked = _is_stack(logged)
            comparable = (one for one in self.ranked() if stacked or not one.fitted_on_others)
            return next((one for one in comparable if one.result.arrays.oof or not folded), None)
        against = self.named(logged.compare_to)
        if folded and not against.result.arrays.oof:
            raise InvalidSubmission(f"{against.name} has no predictions out of fold to compare with")
        return against

    async def _score(
        self,
        folds: LabelledView | None,
        view: LabelledView,
        logged: Logged,
        against: Experiment | None,
        reference: Experiment | None,
        ensemble: PresentEnsemble | None,
        known: Sequence[Experiment],
    ) -> ScoredExperiment:
        answers = [one.result.check for one in known if one.result.check != "not checked"]
        checked = len(answers) < MOST_CHECKS and answers.count("gains less than its folds promise") < MOST_BLAMES
        return await self.worker.score_experiment(
            folds,
            view,
            logged.files,
            self.executor.folder.bank,
            comparison=None if against is None else Reference(against.name, against.result.arrays),
            reference=None if reference is None else Reference(reference.name, reference.result.arrays),
            ensemble=ensemble,
            check=checked and logged.kind != "portfolio",
            seed=self.seed,
        )

    def _reference(self, known: Sequence[Experiment]) -> Experiment | None:
        """Return the experiment that a gain is measured from in the check against leaks: the best that agrees, else the first."""
        usable = [one for one in known if one.complete and not one.fitted_on_others and one.result.arrays.oof]
        agreeing = [one for one in usable if one.result.check == "agrees"]
        best = max(agreeing, key=lambda one: (self.card.oriented(one.result.score), -one.node), default=None)
        return best or next(iter(usable), None)

    def _completed(self, same: Experiment, logged: Logged, result: ScoredExperiment) -> Experiment:
        """Return an experiment that is known, with test predictions if these came later."""
        if same.result.arrays.test is None and result.arrays.test is not None:
            with self.store.write() as tx:
                replace_result(tx, self.run_id, same.node, SCORED_EXPERIMENT.dump_python(result, mode="json"))
            _move(logged.files["test"], self.folder / same.name / _file_of("test", logged.files["test"]))
            self.on_logged()
        return next(one for one in self.all() if one.node == same.node)

    async def _keep(
        self, logged: Logged, position: LabPosition, result: ScoredExperiment, taken: set[str]
    ) -> Experiment:
        name, number = logged.name, 2
        while name in taken:
            name, number = f"{logged.name}-{number}", number + 1
        mine = nodes_of_lab(self.store, self.run_id, self.decisions, position.lab)
        action = Action("improve", position.parents, position.draft_id, lab=position.lab, look=len(mine) + 1)
        node = await self.decisions.look(action)
        kind = "stack" if _is_stack(logged) else logged.kind
        staged = self._stage(node, logged)
        text = "\n\n".join(f"# {file}\n{source.rstrip()}" for file, source in logged.sources.items())
        plan = f"{position.title}: {name}" + (f": {logged.note}" if logged.note else "")
        with self.store.write() as tx:
            create_node(
                tx,
                self.run_id,
                id=node,
                action="improve" if mine or position.parents else "draft",
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
        staged.replace(self.folder / name)
        self.on_logged()
        await asyncio.to_thread(self.write_index)
        return next(one for one in self.all() if one.node == node)

    def _stage(self, node: int, logged: Logged) -> Path:
        """Write an experiment's folder under a hidden name, as it is shown once its row is there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        staged = self.folder / f".{node}"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        for role, path in logged.files.items():
            _move(path, staged / _file_of(role, path))
        for name, text in logged.sources.items():
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_text(text, encoding="utf-8")
        return staged

    def write_index(self) -> None:
        """Write `index.csv`: a line for each experiment, the best first; out-of-fold figures only."""
        ranked = sorted(self.all(), key=lambda one: -self.card.oriented(one.result.score))
        with replacing(self.folder / "index.csv") as partial, partial.open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file)
            table.writerow(("name", "score", "std_error", "kind", "lab", "folds", "uses", "seconds", "note"))
            for one in ranked:
                folds = "all" if one.result.folds is None else " ".join(map(str, one.result.folds))
                std_error = "" if one.result.std_error is None else f"{one.result.std_error:.6g}"
                table.writerow(
                    (
                        one.name,
                        one.shown_score,
                        std_error,
                        one.kind,
                        one.lab or "",
                        folds,
                        " ".join(one.uses),
                        "" if one.seconds is None else f"{one.seconds:.0f}",
                        one.note,
                    )
                )

    def restore(self) -> None:
        """Finish what a killed bot left half-way: show the folders of known experiments, and remove those of unknown ones."""
        self.folder.mkdir(parents=True, exist_ok=True)
        names = {f".{one.node}": one.name for one in self.all()}
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
        for one in self.all():
            test = one.result.arrays.test
            out = self.executor.folder.executions / experiment_folder(one.node) / "submission.csv"
            if (
                test is not None
                and one.kind != "ensemble"
                and (nodes is None or one.node in nodes)
                and not out.exists()
            ):
                await worker.write_predictions(self.executor.folder.bank / test, view.data, self.card, out)

    def trim(self, members: frozenset[int], most_bytes: int = _KEPT_BYTES) -> None:
        """Remove arrays of the worst experiments, but for `members`, until the rest fits; scores and files stay."""
        ranked = self.ranked()
        newest = [one.node for one in self.all()[-_KEPT_LEAST:]]
        kept = {*members, *newest, *(one.node for one in ranked[:_KEPT_BEST])}
        used = {name for one in self.all() if one.node in kept for name in one.uses}
        sizes = {one.node: _size(self.folder / one.name) for one in self.all()}
        room = most_bytes - sum(sizes.values())
        for one in reversed(ranked):
            if room >= 0:
                break
            if one.node not in kept and one.name not in used:
                for path in _arrays_in(self.folder / one.name):
                    path.unlink(missing_ok=True)
                room += sizes[one.node]


def _is_same(one: Experiment, name: str, arrays: Arrays) -> bool:
    """Return whether a known experiment has this name, or one that was numbered for it, and the same predictions.

    Those of the test rows may be missing in either, as they may come later.
    """
    mine = one.result.arrays
    alike = (mine.oof, mine.validation) == (arrays.oof, arrays.validation)
    alike = alike and (mine.test is None or arrays.test in (None, mine.test))
    return alike and re.fullmatch(rf"{re.escape(name)}(-\d+)?", one.name) is not None


def _is_stack(logged: Logged) -> bool:
    """Return whether it names other experiments, or its code reads what they predicted."""
    return bool(logged.uses) or any("experiments/" in text for text in logged.sources.values())


def _file_of(role: Role, path: Path) -> str:
    return f"{role}{path.suffix or '.npy'}"


def _move(path: Path, target: Path) -> None:
    shutil.move(path, target)
    target.chmod(0o644)  # labs run as another user


def _arrays_in(folder: Path) -> list[Path]:
    return [path for role in ROLES for path in folder.glob(f"{role}.*")]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in _arrays_in(folder))
