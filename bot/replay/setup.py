"""Setting up replays: what a person chooses of them, whatever the competition, agent and seed, and what it amounts to here."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bot.agents import AgentName
from bot.agents.settings import ReplayOptions
from bot.coder.coder_config import choose_coder
from bot.configuration import Settings, read_settings
from bot.configuration.own_secrets import open_redactor
from bot.configuration.run_options import resolve, run_options
from bot.models.settings import Environment, ModelChoice, ModelSettings
from bot.replay.ablations import apply_ablations
from bot.replay.prepare import PreparedRun
from bot.replay.run_queue import Job
from bot.replay.settings import ReplaySettings, cutoff_on
from sandbox import Sandbox
from sandbox.choose import choose
from sandbox.environments import chosen_environment
from sandbox.instance import instance_of
from sandbox.leases import Leases
from sandbox.share import Share, share_of
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError

MIN_SECONDS = 10.0
"""Of a replay: five for its baseline, and five for grading, the report and the exit."""


@dataclass(frozen=True)
class Setup:
    """What replays with one model have in common here."""

    options: ReplayOptions
    out: Path
    file: Path | None
    """bot.toml; None: there is none."""
    configuration: Settings
    models: ModelSettings
    choice: ModelChoice
    sandbox: Sandbox
    gpus: int = 0
    """That an execution holds."""
    leases: Leases | None = None
    """Where scripts run, once that is open; None: as if on this machine."""

    @classmethod
    def read(
        cls,
        chosen_options: Mapping[str, Any],
        model: str | None,
        out: Path,
        file: Path | None,
        fleet: str | None = None,
        models: ModelSettings | None = None,
        usual: Mapping[str, Any] | None = None,
        min_seconds: float = MIN_SECONDS,
    ) -> Self:
        """Find out what runs in a folder would run with.

        `chosen_options` and `usual` are as in `run_options`, `model` and `fleet` as the options so named, `file` is bot.toml,
        and `models` take the place of those of the environment and bot.toml. `min_seconds` is the least that `time` may be.

        Raises UsageError: an option is wrong, the model, coder or sandbox cannot be used, or bot.toml is wrong.
        """
        configuration = read_settings(file)
        configuration = configuration.model_copy(update={"fleet": configuration.fleet.at(fleet)})
        options = run_options(configuration, chosen_options, usual)
        if options.time < min_seconds:
            raise UsageError(f"a time limit of {options.time:g} s is too short: it must be at least {min_seconds:g} s")
        if options.notes is not None and not options.notes.is_dir():
            raise UsageError(f"--notes {options.notes}: folder not found")
        models = models or ModelSettings(Environment.read(), configuration.models)
        choice, settings = models.resolve(model), configuration.sandbox
        sandbox = choose(
            options.sandbox,
            trusted=choice.kind == "builtin",
            instance=instance_of(out),
            settings=settings,
            environment=chosen_environment(settings.environments_folder, settings.environment),
        )
        _ = choose_coder(options.coder, configuration.coders, choice, sandbox.describe())
        return cls(options, out, file, configuration, models, choice, sandbox)

    def settings(
        self, snapshot: Snapshot, agent: AgentName, seed: int, ablations: Sequence[str] = ()
    ) -> ReplaySettings:
        """Return the settings of one run. Raises UsageError: the cutoff is no time after the competition's start."""
        options, configured = self.options, self.configuration
        resolved = resolve(
            options,
            configured,
            self.choice,
            self.sandbox.describe(),
            agent=agent,
            parallel=options.parallel,
            share=self.share(),
            gpus=self.gpus,
            file=self.file,
        )
        run_values = {"snapshot": snapshot.path.resolve(), "fleet": configured.fleet.address, "seed": seed}
        cutoff = cutoff_on(snapshot.card, options.cutoff)
        settings = ReplaySettings.model_validate({**resolved, **run_values, "cutoff": cutoff})
        return apply_ablations(settings, ablations)

    def share(self) -> Share:
        """Return what one script may use; raises UsageError where no node of a fleet has as many cores and GPUs."""
        sandbox, options = self.configuration.sandbox, self.options
        if self.leases is None:
            return share_of(sandbox, self.out, parallel=options.parallel, cpus=options.cpus)
        return self.leases.share(sandbox, self.out, parallel=options.parallel, cpus=options.cpus, gpus=self.gpus)

    @property
    def caution(self) -> str | None:
        """What you should know before runs begin: that there is no sandbox without your choice."""
        if self.options.sandbox == "auto" and self.sandbox.describe().isolation == "none":
            return "no sandbox works on this machine (see --sandbox): scripts run as plain processes"
        return None

    def job(self, run: PreparedRun) -> Job:
        """Return a prepared run with what it needs."""
        return Job(run, self.sandbox, self.models, open_redactor(self.configuration))
