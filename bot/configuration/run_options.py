"""The options of a run merged: defaults, then `[run]` of bot.toml, then a competition's or plan's, then a command's."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from bot.agents import AgentName, blends
from bot.agents.settings import ReplayOptions, RunOptions
from bot.coder.coder_config import choose_coder
from bot.configuration.mistakes import expected
from bot.configuration.reading import merge
from bot.configuration.settings import Settings
from bot.models.settings import ModelChoice
from sandbox import SandboxDescription
from sandbox.share import Share
from state.errors import UsageError


def run_options(
    settings: Settings, options: Mapping[str, Any], usual: Mapping[str, Any] | None = None
) -> ReplayOptions:
    """Return the options of a command's runs, with `usual` in place of the defaults. Raises UsageError: an option is wrong."""
    try:
        return ReplayOptions.model_validate(merge(usual or {}, settings.run.model_dump(exclude_unset=True), options))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"--{str(first['loc'][-1]).replace('_', '-')}: {expected(first)}") from None


def resolve(
    options: RunOptions,
    settings: Settings,
    choice: ModelChoice,
    sandbox: SandboxDescription,
    *,
    agent: AgentName,
    parallel: int,
    share: Share,
    gpus: int,
    file: Path | None,
) -> dict[str, Any]:
    """Return a run's settings: its options, and their consequences with these models, on this machine.

    `parallel` is the number of nodes at once; `share` and `gpus` are for one script. Raises UsageError: the coder is unknown,
    or cannot work here.
    """
    rounds = options.rounds
    more_drafts = {"drafts_per_round": max(rounds.drafts_per_round, parallel)}
    fields = (ReplayOptions if isinstance(options, ReplayOptions) else RunOptions).model_fields
    values = {name: getattr(options, name) for name in fields}
    return values | {
        "agent": agent,
        "blend": blends(agent) if options.blend is None else options.blend,
        "model": choice.spec,
        "roles": dict(choice.roles or {}),
        "chosen_coder": choose_coder(options.coder, settings.coders, choice, sandbox),
        "rounds": rounds.model_copy(update=more_drafts),
        "parallel": parallel,
        "sandbox": sandbox.name,
        "image": sandbox.image,
        "runtime": settings.sandbox.runtime if sandbox.image else None,
        "environment": sandbox.environment,
        **asdict(share),
        "gpus": gpus,
        "config": file,
        "calls_in_flight": settings.models.in_flight,
        "budget_of_all": settings.budget,
        "knowledge_base": settings.knowledge,
        "weights": settings.weights.folder if settings.weights.offer else None,
    }
