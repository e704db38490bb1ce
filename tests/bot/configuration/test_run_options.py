"""Each key of a run: in bot.toml, in a plan, for a competition and as an option, down to where it is used."""

import re
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import typer
from pydantic import BaseModel
from typer.testing import CliRunner

from bot.agents import open_agent
from bot.agents.builtin import BUILT_IN
from bot.agents.settings import ReplayOptions, RunOptions
from bot.cli.options import field_options, with_options
from bot.configuration import Settings, read_settings
from bot.configuration.example import toml_value
from bot.configuration.fields import content_of
from bot.configuration.run_options import run_options
from bot.configuration.settings import CompetitionSettings
from bot.engine.services import SharedServices
from bot.evaluation.client.worker import Worker
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.open_leases import open_leases
from bot.execution.stopwatch import Stopwatch
from bot.replay.prepare import prepare
from bot.replay.run import open_run_context, start_run
from bot.replay.setup import Setup
from bot.research.bench.bench import read_bench
from scrapers.posts.sources import notes_of
from scrapers.snapshots.snapshot import Snapshot
from state.clock import StreamClock
from state.errors import UsageError
from state.store import Store
from tests.source_tree import ROOT, sources
from tests.tiny_snapshot import write_tiny

Path_ = tuple[str, ...]
OTHER: dict[str, object] = {
    "agent": "aide",
    "coder": "script",
    "cutoff": "2020-02-01T00:00:00Z",
    "knowledge": "none",
    "sandbox": "process",
    "signals": "collected",
    "gpus": 0,
    "cpus": 1,
    "notes": "notes",
    "time": "90s",
}
"""Values for keys where any other would not do here."""


def keys(model: type[BaseModel], above: Path_ = ()) -> Iterator[Path_]:
    for name, field in model.model_fields.items():
        kind, inner = content_of(field)
        if kind == "table" and inner:
            yield from keys(inner, (*above, name))
        else:
            yield (*above, name)


def other(path: Path_) -> object:
    """Return a valid value that is not the key's default."""
    model: type[BaseModel] = ReplayOptions
    for name in path[:-1]:
        model = content_of(model.model_fields[name])[1] or model
    field = model.model_fields[path[-1]]
    if path[-1] in OTHER:
        return OTHER[path[-1]]
    if field.default is None:
        return field.examples[0] if field.examples else None
    if isinstance(field.default, bool):
        return not field.default
    if get_origin(field.annotation) is Literal:
        return next(value for value in get_args(field.annotation) if value != field.default)
    assert isinstance(field.default, int | float)
    halved = field.default / 2 if isinstance(field.default, float) and field.default < 1 else field.default + 1
    return type(field.default)(halved)


KEYS = list(keys(ReplayOptions))
EACH = pytest.mark.parametrize("path", KEYS, ids=".".join)


def value_at(model: BaseModel, path: Path_) -> object:
    found: Any = model
    for name in path:
        found = getattr(found, name)
    return found


def line(path: Path_) -> str:
    return f"{'.'.join(path)} = {toml_value(other(path))}\n"


def expected(path: Path_, folder: Path) -> object:
    table: Any = other(path)
    for name in reversed(path):
        table = {name: table}
    wanted = value_at(ReplayOptions.model_validate(table), path)
    return folder / wanted if isinstance(wanted, Path) else wanted


@EACH
def test_a_key_of_bot_toml_holds_for_replays_and_if_it_is_not_of_those_alone_for_competitions(
    tmp_path: Path, path: Path_
) -> None:
    file = tmp_path / "bot.toml"
    file.write_text(f"[run]\n{line(path)}[competitions.one]\n")
    settings, wanted = read_settings(file), expected(path, tmp_path)
    assert value_at(run_options(settings, {}), path) == wanted != value_at(ReplayOptions(), path)
    if path[0] in RunOptions.model_fields:
        assert value_at(settings.competitions["one"], path) == wanted
        file.write_text(f"[competitions.one]\n{line(path)}[competitions.two]\n")
        own = read_settings(file).competitions
        assert value_at(own["one"], path) == wanted != value_at(own["two"], path)
    else:
        assert path[0] not in CompetitionSettings.model_fields


def test_every_option_sets_its_key_and_goes_before_bot_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given_tables: list[dict[str, Any]] = []
    app = typer.Typer()

    @app.command()
    @with_options(ReplayOptions)
    def command(chosen_options: dict[str, Any]) -> None:
        given_tables.append(chosen_options)

    for option in field_options(ReplayOptions):
        value = other(option.path)
        flag = f"--{option.name}" if value is not False else f"--no-{option.name}"
        words = [flag] if isinstance(value, bool) else [flag, str(value)]
        assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 0
        options = run_options(Settings(), given_tables[-1])
        changed = [path for path in KEYS if value_at(options, path) != value_at(ReplayOptions(), path)]
        assert changed == [option.path]
        assert value_at(options, option.path) == expected(option.path, tmp_path)
    assert len(given_tables) >= 20


def test_of_several_values_the_one_that_is_nearest_to_the_run_holds(tmp_path: Path) -> None:
    write_tiny(tmp_path / "tiny")
    bot, plan = tmp_path / "bot.toml", tmp_path / "plan.toml"
    bot.write_text("[run]\nsteps = 3\nparallel = 2\nlab.turns = 7\nsandbox = 'process'\n")
    plan.write_text(
        "competitions = ['tiny']\nagents = ['aide']\nmodels = ['builtin']\n[run]\nsteps = 4\nlab.share = 0.5\n"
    )
    (run,) = read_bench(plan, bot).runs
    lab = run.settings.lab
    assert (run.settings.steps, run.settings.parallel, lab.turns, lab.share) == (4, 2, 7, 0.5)
    settings = read_settings(bot)
    options = run_options(settings, {"steps": 5}, usual={"parallel": 9, "time": 600.0})
    assert (options.steps, options.parallel, options.time, options.seed) == (5, 2, 600.0, 0)
    with pytest.raises(UsageError, match="--steps: must be at least 1"):
        run_options(settings, {"steps": 0})


async def opened_with(folder: Path, text: str, **given: object) -> Any:
    """Return a run's settings, its context, its agent, and the notes in its store."""
    (folder / "notes").mkdir(parents=True)
    (folder / "notes" / "one.md").write_text("a note")
    (folder / "bot.toml").write_text(text)
    setup = Setup.read(given, "builtin", folder / "runs", folder / "bot.toml")
    snapshot = Snapshot.load(write_tiny(folder / "tiny"), METRIC_DIRECTIONS)
    settings = setup.settings(snapshot, setup.options.agent, setup.options.seed)
    (run,) = prepare([(snapshot, settings)], folder / "runs", snapshot.card.deadline)
    cutoff = settings.cutoff
    clock = StreamClock(snapshot.card.enabled_at, cutoff)
    with open_leases(setup.configuration.leases, 0) as (leases, _), Store.open(run.folder.database, clock) as store:
        async with aclosing(Worker()) as worker:
            machinery = SharedServices(setup.sandbox, leases, setup.models, worker, BUILT_IN)
            await start_run(run, store, lambda line: None)
            async with open_run_context(run, store, clock, machinery, Stopwatch(), lambda line: None) as context:
                agent = open_agent(settings.agent, context)
                with store.read() as session:
                    notes = notes_of(session, snapshot.card.slug)
                return settings, context, agent, notes


TABLES = {"lab", "reading", "reproduction", "rounds", "tree_search", "adaptive_coding"}


@pytest.mark.integration
async def test_every_key_arrives_where_it_is_used(tmp_path: Path) -> None:
    text = "[run]\n" + "".join(line(path) for path in KEYS if path not in {("community",), ("budget", "money")})
    settings, context, agent, notes = await opened_with(tmp_path / "a", text)
    executor, caps = context.executor, context.spending
    used = {
        ("seed",): context.seed,
        ("blend",): context.blender is not None,
        ("knowledge",): "none" if context.knowledge is None else "shown",
        ("time",): context.budget.seconds,
        ("steps",): context.budget.steps,
        ("split_seed",): executor.settings.seed,
        ("parallel",): context.slots,
        ("sandbox",): executor.sandbox.describe().name,
        ("cpus",): executor.leasing.cpus,
        ("gpus",): executor.leasing.gpus,
        ("agent",): agent.name,
        ("cutoff",): context.clock.cutoff,
        ("signals",): context.community.signals,
        ("watch",): executor.settings.rules,
    }
    for path, value in used.items():
        assert value == value_at(settings, path), path
        assert path == ("watch",) or value == expected(path, tmp_path), path
    assert notes is not None and notes.times
    for name in TABLES:
        table = getattr(settings, name)
        assert context.settings_of(type(table)) is table
    for kind, cap in settings.budget.model_dump(exclude_none=True).items():
        assert caps.remaining[kind] == pytest.approx(cap, rel=0.01), kind  # a part of the wall time is over
    assert settings.chosen_coder.labs is False and settings.pace == "stream"
    _, context, *_ = await opened_with(tmp_path / "b", "[run]\ncommunity = false\nsandbox = 'process'\n")
    assert context.community is None
    arrived = {path for path in KEYS if path in used or path[0] in TABLES | {"budget", "watch"}}
    assert {*KEYS} - arrived == {("coder",), ("notes",), ("pace",), ("community",)}


def test_every_key_of_bot_toml_is_read_somewhere_in_the_product() -> None:
    texts = "\n".join(path.read_text(encoding="utf-8") for path in sources(ROOT))
    attributes = set(re.findall(r"\.([a-z]\w*)", texts))
    named = set(re.findall(r"[\"']([a-z]\w*)[\"']", texts))
    leaves = {path[-1] for path in keys(Settings)} | {path[-1] for path in keys(CompetitionSettings)}
    assert leaves - attributes - named == set()
