"""Setting up replays: what a person chooses of them, whatever the competition, agent and seed, and what it amounts to here."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field

from bot.agents import AgentName, blends
from bot.agents.comind.policy import Coder, RoundsSettings, usual_coder
from bot.coder.own import ChosenCoder, own_coder
from bot.configuration import Settings, read_settings
from bot.configuration.own_secrets import open_redactor
from bot.knowledge.base import Shown
from bot.models.settings import Environment, ModelChoice, ModelSettings
from bot.replay.ablations import without
from bot.replay.prepare import PreparedRun
from bot.replay.settings import DEFAULT_SECONDS, ReplaySettings, parse_cutoff, parse_seconds
from bot.replay.several import Job
from sandbox import BackEndChoice, Sandbox, SandboxDescription
from sandbox.choose import choose
from sandbox.environments import chosen_environment
from sandbox.instance import instance_of
from sandbox.leases import Leases
from sandbox.share import Share, share_of
from scrapers.snapshots.snapshot import Snapshot
from state.closed import ClosedModel
from state.errors import UsageError


def _seconds(given: object) -> object:
    if not isinstance(given, str):
        return given
    try:
        return parse_seconds(given)
    except UsageError:
        raise ValueError("must be a time above zero, such as 90s, 5m or 5h") from None


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, lt=math.inf)]
"""Seconds, or a text such as `90s`, `5m` or `5h`."""


class ReplayOptions(ClosedModel):
    """What may be chosen of a replay, whatever its competition, agent, model and seed."""

    time: Seconds = Field(default=DEFAULT_SECONDS, description="a run's wall time until its exit")
    steps: int | None = Field(default=None, ge=1, description="most nodes, including the safe baseline")
    max_cost: float | None = Field(default=None, ge=0, description="cap in USD per run")
    max_tokens: int | None = Field(default=None, ge=0, description="cap on a run's new tokens")
    cutoff: str = Field(default="deadline", description="the clock: `deadline`, or an ISO time")
    pace: Literal["all", "stream"] = Field(default="all", description="whether the clock stands or moves")
    signals: Literal["asof", "collected"] = Field(default="asof", description="whence votes, scores and tiers are")
    knowledge: Shown = Field(default="clock", description="which entries of the knowledge base prompts may hold")
    split_seed: int = Field(default=0, description="seed of the rows that are withheld, the same for all runs")
    coder: str | None = Field(
        default=None, description="who works on CoMind's drafts: lab, script, or a coder of bot.toml"
    )
    sandbox: BackEndChoice = Field(default="auto", description="where generated code runs")
    parallel: int = Field(default=1, ge=1, description="nodes that a run works on at once")
    cpus: int | None = Field(default=None, ge=1, description="cores an execution may use")
    gpus: int | None = Field(default=None, ge=0, description="GPUs per execution")


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
    coder: Coder
    """Who works on drafts."""
    chosen: ChosenCoder = field(default_factory=ChosenCoder)
    """Who works in labs."""
    gpus: int = 0
    """That an execution holds."""
    leases: Leases | None = None
    """Where scripts run, once that is open; None: as if on this machine."""

    @classmethod
    def of(
        cls,
        options: ReplayOptions,
        model: str | None,
        out: Path,
        file: Path | None,
        fleet: str | None = None,
        models: ModelSettings | None = None,
    ) -> Self:
        """Find out what runs in a folder would run with.

        `model` and `fleet` are as the options of those names, `file` is bot.toml, and `models` take the place of
        those of the environment and bot.toml.

        Raises:
            UsageError: the model or the sandbox cannot be used, labs are asked for and cannot be, or bot.toml is wrong.
        """
        configuration = read_settings(file)
        configuration = configuration.model_copy(update={"fleet": configuration.fleet.at(fleet)})
        models = models or ModelSettings(Environment.read(), configuration.models)
        choice, settings = models.resolve(model), configuration.sandbox
        sandbox = choose(
            options.sandbox,
            trusted=choice.kind == "builtin",
            instance=instance_of(out),
            settings=settings,
            environment=chosen_environment(settings.environments_folder, settings.environment),
        )
        coder, chosen = _coder(options.coder, choice, sandbox.describe(), configuration)
        return cls(options, out, file, configuration, models, choice, sandbox, coder, chosen)

    def settings(
        self, snapshot: Snapshot, agent: AgentName, seed: int, ablations: Sequence[str] = ()
    ) -> ReplaySettings:
        """Return the settings of one run.

        Raises:
            UsageError: the cutoff is no time after the competition's start.
        """
        options, configured, described = self.options, self.configuration, self.sandbox.describe()
        settings = ReplaySettings(
            snapshot=snapshot.path.resolve(),
            agent=agent,
            seed=seed,
            cutoff=parse_cutoff(options.cutoff, snapshot.card),
            blend=blends(agent),
            model=self.choice.spec,
            roles=dict(self.choice.roles or {}),
            signals=options.signals,
            pace=options.pace,
            steps=options.steps,
            split_seed=options.split_seed,
            seconds=options.time,
            max_cost=options.max_cost,
            max_tokens=options.max_tokens,
            sandbox=described.name,
            image=described.image,
            runtime=configured.sandbox.runtime if described.image else None,
            parallel=options.parallel,
            environment=described.environment,
            **asdict(self.share()),
            gpus=self.gpus,
            fleet=configured.fleet.address,
            config=self.file,
            # A round has a draft for every slot.
            rounds=RoundsSettings(
                coder=self.coder,
                drafts_per_round=max(RoundsSettings().drafts_per_round, options.parallel),
            ),
            calls_in_flight=configured.models.in_flight,
            watch=configured.watch,
            lab=configured.lab,
            coder=self.chosen,
            reproduction=configured.reproduction,
            tree_search=configured.tree_search,
            adaptive_coding=configured.adaptive_coding,
            knowledge=options.knowledge,
            knowledge_base=configured.knowledge,
            budget=configured.budget,
            weights=configured.weights.folder if configured.weights.offer else None,
        )
        return without(settings, ablations)

    def share(self) -> Share:
        """Return what one script may use; raises UsageError where no node of a fleet has as many cores and GPUs."""
        sandbox, options = self.configuration.sandbox, self.options
        if self.leases is None:
            return share_of(sandbox, self.out, parallel=options.parallel, cpus=options.cpus)
        return self.leases.share(sandbox, self.out, parallel=options.parallel, cpus=options.cpus, gpus=self.gpus)

    @property
    def caution(self) -> str | None:
        """What a person should know before runs begin: that nobody chose to go without a sandbox."""
        if self.options.sandbox != "auto" or self.sandbox.describe().isolation != "none":
            return None
        return (
            "no sandbox works here (see --sandbox in the README): the built-in model's scripts run as plain processes"
        )

    def job(self, run: PreparedRun) -> Job:
        """Return a prepared run with what it needs."""
        return Job(run, self.sandbox, self.models, open_redactor(self.configuration))


def _coder(
    asked: str | None, choice: ModelChoice, sandbox: SandboxDescription, configured: Settings
) -> tuple[Coder, ChosenCoder]:
    """Return who works on drafts, and who in labs; raises UsageError where labs are asked for and cannot be, or nobody known."""
    usual = usual_coder(choice.kind, sandbox)
    if asked in (None, "script"):
        return "script" if asked else usual, ChosenCoder()
    if usual != "lab":
        why = (
            "the built-in model works on none"
            if choice.kind == "builtin"
            else "it needs --sandbox bubblewrap or docker"
        )
        raise UsageError(f"--coder {asked}: {why}")
    if asked == "lab":
        return "lab", ChosenCoder()
    return "lab", ChosenCoder(own=own_coder(str(asked), configured.coders, choice))
