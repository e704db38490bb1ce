"""A bench: the runs of a plan in their order, each with its folder as soon as the bench has begun."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path

from bot.agents import AgentName
from bot.configuration.lines import KeyPath
from bot.configuration.mistakes import TomlFile
from bot.configuration.reading import read_settings, read_toml
from bot.configuration.run_options import run_options
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import RunFolder, is_run_on, run_folders
from bot.replay.ablations import variant_of
from bot.replay.prepare import prepare, read_config
from bot.replay.settings import ReplaySettings, cutoff_on
from bot.replay.setup import Setup
from bot.research.bench.plan import BenchPlan, budget_contradictions, contradictions
from bot.research.contender import Contender
from sandbox.leases import Leases
from scrapers.snapshots.snapshot import Snapshot
from state.errors import ConfigurationError, SnapshotError, UsageError

_OF_PLAN = ("cutoff", "pace", "signals", "steps", "time", "split_seed", "budget", "parallel")
"""Settings that the plan rules and the folder of a run that was begun must agree with."""

_CUTOFF: KeyPath = ("run", "cutoff")

Key = tuple[str, int, Contender]
"""A run by its competition, its seed and its contender."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of the plan."""

    snapshot: Snapshot
    settings: ReplaySettings
    setup: Setup
    folder: RunFolder | None = None
    """None: it was not prepared yet."""

    @property
    def key(self) -> Key:
        """What tells it from the others."""
        return self.snapshot.card.slug, self.settings.seed, contender_of(self.settings)


Group = tuple[PlannedRun, ...]
"""All runs of one competition with one seed, which are done before the next group."""


@dataclass(frozen=True)
class Bench:
    """The runs of a plan."""

    plan: BenchPlan
    out: Path
    groups: tuple[Group, ...]
    """In order: all competitions with the first seed, then with the second."""
    foreign_runs: int = 0
    """Runs in the folder that are not of the plan."""

    @property
    def runs(self) -> tuple[PlannedRun, ...]:
        """All runs in order."""
        return tuple(run for group in self.groups for run in group)

    @property
    def snapshots(self) -> Mapping[str, Snapshot]:
        """The competitions by slug."""
        return {run.snapshot.card.slug: run.snapshot for run in self.runs}


def contender_of(settings: ReplaySettings) -> Contender:
    """Return the contender that a run is of."""
    return Contender(settings.agent, variant_of(settings), settings.model)


def read_bench(file: Path, configured: Path | None, fleet: str | None = None) -> Bench:
    """Read a plan, and check all that it names; `with_folders` finds what was begun of it.

    `configured` is bot.toml, `fleet` as the option `--fleet`.

    Raises:
        ConfigurationError: something in the plan is wrong; the error holds every mistake.
        UsageError: bot.toml is wrong.
    """
    plan, lines = read_toml(file, BenchPlan, contradictions)
    run = run_options(read_settings(configured), plan.run.model_dump(exclude_unset=True))
    plan = plan.model_copy(update={"run": run})
    out = plan.out or file.absolute().parent / f"{file.stem}-runs"
    checked = _Checked(plan, out, configured, fleet)
    if checked.mistakes:
        plan_file = TomlFile(file, lines)
        raise ConfigurationError([plan_file.mistake("wrong", path, sentence) for path, sentence in checked.mistakes])
    return Bench(plan, out, tuple(checked.groups()))


class _Checked:
    """What a plan names, loaded; each mistake is a key with the rest of its sentence."""

    def __init__(self, plan: BenchPlan, out: Path, configured: Path | None, fleet: str | None) -> None:
        self._plan = plan
        self.mistakes = [*budget_contradictions(plan)]
        self._snapshots: list[Snapshot] = []
        for number, folder in enumerate(plan.competitions):
            self._load(("competitions", number), folder)
        self._setups: list[Setup] = []
        for number, model in enumerate(plan.models or (None,)):
            try:
                self._setups.append(Setup.read(plan.run.model_dump(exclude_unset=True), model, out, configured, fleet))
            except ConfigurationError:
                raise
            except UsageError as error:
                self.mistakes.append((("models", number) if plan.models else ("run",), f"cannot be used: {error}"))
        for number, (agent, words) in enumerate(plan.agents if not self.mistakes else ()):
            self._check_entrant(("agents", number), agent, words)

    def groups(self) -> Iterator[Group]:
        """Yield the groups in order."""
        for seed in self._plan.each_seed:
            for snapshot in self._snapshots:
                yield tuple(
                    PlannedRun(snapshot, setup.settings(snapshot, agent, seed, words), setup)
                    for setup in self._setups
                    for agent, words in self._plan.agents
                )

    def _load(self, path: KeyPath, folder: Path) -> None:
        try:
            snapshot = Snapshot.load(folder, METRIC_DIRECTIONS)
            _ = cutoff_on(snapshot.card, self._plan.run.cutoff)
        except SnapshotError as error:
            first, *further = error.problems
            further_words = f", and {len(further)} more" if further else ""
            self.mistakes.append(
                (path, f"is not a usable snapshot: {first}{further_words}; see `bot snapshot check {folder}`")
            )
            return
        except UsageError as error:
            if not any(place == _CUTOFF for place, _ in self.mistakes):
                self.mistakes.append((_CUTOFF, f"cannot be used: {error}"))
            return
        if any(s.card.slug == snapshot.card.slug for s in self._snapshots):
            self.mistakes.append((path, f"is another snapshot of {snapshot.card.slug}: list each competition once"))
        self._snapshots.append(snapshot)

    def _check_entrant(self, path: KeyPath, agent: AgentName, words: Sequence[str]) -> None:
        """Find an ablation of a part that the agent does not have: its runs would be those of the agent itself."""
        for setup in self._setups:
            variant = contender_of(setup.settings(self._snapshots[0], agent, 0, words)).variant
            if idle := [word for word in words if word not in variant]:
                reason = f"{agent} does not use it with {setup.choice.spec} and these options"
                self.mistakes.append((path, f"names {idle[0]}, which has no effect: {reason}"))
                return


def with_folders(bench: Bench) -> Bench:
    """Return the bench with the folders of those runs that were begun or prepared before.

    Raises UsageError: one was begun with other options, or is not of this version.
    """
    planned = {run.key: run for run in bench.runs}
    folder_of: dict[Key, RunFolder] = {}
    foreign_runs = 0
    for folder in run_folders([bench.out]):
        run_id, settings = read_config(folder)
        slug = next((slug_of_run for slug_of_run in bench.snapshots if is_run_on(slug_of_run, run_id)), "")
        key = (slug, settings.seed, contender_of(settings))
        if key not in planned:
            foreign_runs += 1
            continue
        _agree(folder, settings, planned[key].settings)
        folder_of.setdefault(key, folder)
    groups = tuple(tuple(replace(run, folder=folder_of.get(run.key)) for run in group) for group in bench.groups)
    return replace(bench, groups=groups, foreign_runs=foreign_runs)


def _agree(folder: RunFolder, started: ReplaySettings, planned: ReplaySettings) -> None:
    for name in _OF_PLAN:
        was, now = getattr(started, name), getattr(planned, name)
        if was != now:
            raise UsageError(
                f"{folder.path} has {name} {was}, but the plan says {now}. Change `out` in the plan, or move the folder"
            )


def prepare_bench(bench: Bench, leases: Leases, gpus: int, now: datetime) -> Bench:
    """Return the bench with a folder for each run; those that have none get one, in the order of the plan.

    Raises OSError: a folder cannot be created.
    """
    new = [run for run in bench.runs if run.folder is None]
    share = {run.setup.choice.spec: asdict(replace(run.setup, gpus=gpus, leases=leases).share()) for run in new}
    runs = [
        (run.snapshot, run.settings.model_copy(update={"gpus": gpus, **share[run.setup.choice.spec]})) for run in new
    ]
    prepared_runs = prepare(runs, bench.out, now)
    folders = {run.key: p.folder for run, p in zip(new, prepared_runs, strict=True)}
    groups = tuple(
        tuple(replace(run, folder=run.folder or folders[run.key]) for run in group) for group in bench.groups
    )
    return replace(bench, groups=groups)
