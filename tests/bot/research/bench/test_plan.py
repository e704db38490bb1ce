"""Plans: the order of their runs, what is wrong with them, and what was begun of them."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.agents import AGENTS, agent_of
from bot.execution.folder import run_folders
from bot.replay.ablations import ABLATIONS
from bot.report.result import write_result
from bot.research.bench.bench import Bench, contender_of, prepare_bench, read_bench, with_folders
from bot.research.bench.plan import BenchBudget
from bot.research.bench.spending import BenchSpending, left_to_do, max_needed, refusal, reserved, spent_by
from sandbox.leases import Leases
from state.errors import ConfigurationError, UsageError
from tests.bot.replay.conftest import Bot, bot, tiny
from tests.bot.research.compare.simulated import result
from tests.tiny_snapshot import SLUG

__all__ = ["bot", "tiny"]

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HERE = Leases(Path("no leases are taken"))
PLAN = """
competitions = ["one", "../two"]
agents = ["comind", "comind no-blend no-community", "aide"]
models = ["builtin"]
seeds = [3, 1]
[run]
time = "1m"
sandbox = "process"
"""


@pytest.fixture
def place(tiny: Path, tmp_path: Path) -> Path:
    """Return a folder for plans, with snapshots of two competitions in it and beside it."""
    for name, folder in (("one", tmp_path / "plans" / "one"), ("two", tmp_path / "two")):
        shutil.copytree(tiny, folder)
        manifest = json.loads((folder / "snapshot.json").read_text())
        (folder / "snapshot.json").write_text(json.dumps(manifest | {"slug": f"{SLUG}-{name}"}))
    return tmp_path / "plans"


def planned(place: Path, text: str = PLAN) -> Bench:
    (place / "plan.toml").write_text(text)
    return with_folders(read_bench(place / "plan.toml", None))


def mistakes(place: Path, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        planned(place, text)
    return [f"{one.line}: {one.message}" for one in raised.value.problems]


def finish(bench: Bench, *numbers: int, **more: object) -> None:
    """Have some runs of a prepared bench finished, counted from 0."""
    for number in numbers:
        run = bench.runs[number]
        assert run.folder is not None
        slug, seed, contender = run.key
        done = result(slug, contender.title(with_model=False), seed, 0.5, model="builtin", **more)
        write_result(run.folder, done)


def test_all_agents_of_a_competition_and_seed_stand_side_by_side_and_each_seed_visits_all_competitions(
    place: Path,
) -> None:
    found = planned(place)
    keys = [
        (slug.removeprefix(f"{SLUG}-"), seed, one.title(with_model=False))
        for slug, seed, one in (r.key for r in found.runs)
    ]
    agents = ["comind", "comind no-community no-blend", "aide"]
    assert keys == [(slug, seed, agent) for seed in (3, 1) for slug in ("one", "two") for agent in agents]
    assert [len(group) for group in found.groups] == [3, 3, 3, 3]


def test_paths_start_at_the_plan_and_runs_go_beside_it_wherever_the_command_is_started(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    found = planned(place)
    assert found.runs[0].settings.snapshot == place / "one"
    assert found.runs[3].settings.snapshot == place.parent / "two"
    assert found.out == place / "plan-runs"
    assert planned(place, 'out = "../elsewhere"\n' + PLAN).out == place.parent / "elsewhere"


def test_options_of_the_plan_reach_every_run_and_ablations_only_theirs(place: Path) -> None:
    usual, without, aide = planned(place, PLAN + "steps = 4\n[run.budget]\nmoney = 2.0\n").groups[0]
    for run in (usual, without, aide):
        assert (run.settings.time, run.settings.steps, run.settings.budget.money) == (60.0, 4, 2.0)
        assert run.settings.sandbox == "process"
    assert (usual.settings.community, usual.settings.blend) == (True, True)
    assert (without.settings.community, without.settings.blend) == (False, False)
    assert (aide.settings.community, aide.settings.blend) == (True, False)


def test_every_mistake_is_one_sentence_with_its_line(place: Path) -> None:
    text = """competitions = ["one", "nowhere"]
agents = ["comand", "comind no-blnd", "aide"]
seeds = 0
modles = ["builtin"]
[run]
time = "soon"
steps = 0
"""
    found = mistakes(place, text)
    assert found == [
        "2: agents.1 names the unknown agent 'comand': did you mean comind?",
        "2: agents.2 names the unknown ablation 'no-blnd': did you mean no-blend?",
        "3: seeds must be at least 1, or a list, not 0 (number of seeds, or a list of seeds)",
        "4: unknown key 'modles'; did you mean 'models'?",
        "6: run.time must be a positive duration, such as 90s, 5m or 5h (wall-clock time after which a run ends, such "
        "as 90s, 5m or 5h)",
        "7: run.steps must be at least 1, not 0 (maximum number of nodes, including the baseline)",
    ]


def test_what_a_plan_names_is_looked_at_before_anything_runs(place: Path) -> None:
    shutil.copytree(place / "one", place / "again")
    text = """competitions = ["one", "nowhere",
  "again"]
agents = ["aide"]
models = ["openai:some", "builtin"]
[run]
sandbox = "process"
"""
    nowhere, again, model = mistakes(place, text)
    assert nowhere.startswith("1: competitions.2 is not a usable snapshot: snapshot.json: ")
    assert again == f"1: competitions.3 is another snapshot of {SLUG}-one: list each competition once"
    assert model.startswith("4: models.1 cannot be used: no model is configured: set OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("seeds = [3, 1]", "seeds = [1, 1]"), "5: seeds lists '1' 2 times: list it only once"),
        (('"aide"]', '"comind"]'), "3: agents lists 'comind' 2 times: list it only once"),
        (('"../two"]', '"one"]'), "2: competitions lists '{place}/one' 2 times: list it only once"),
        (
            ('"process"\n', '"process"\ncutoff = "2019-01-01"\n'),
            "9: run.cutoff cannot be used: --cutoff 2019-01-01T00:00:00Z is before ",
        ),
        (
            ('"aide"]', '"aide no-blend"]'),
            "3: agents.3 names no-blend, which has no effect: aide does not use it with builtin and these options",
        ),
        (
            ('"aide"]', '"comind no-labs"]'),
            "3: agents.3 names no-labs, which has no effect: comind does not use it with builtin and these options",
        ),
        (
            ('"process"\n', '"process"\n[budget]\ntime = "2m"\n'),
            "10: budget.time must be at least 180 s: one competition with one seed takes 3 runs of 60 s each",
        ),
        (
            ('"process"\n', '"process"\n[budget]\nmoney = 3.0\n'),
            "10: budget.money requires `money` under [run.budget]; otherwise, one run could spend everything",
        ),
        (
            ('"process"\n', '"process"\n[run.budget]\nmoney = 2.0\n[budget]\nmoney = 3.0\n'),
            "12: budget.money must be at least 6: one competition with one seed takes 3 runs, which cost up to 2 USD each",
        ),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(place: Path, change: tuple[str, str], sentence: str) -> None:
    (found,) = mistakes(place, PLAN.replace(*change))
    assert found.startswith(sentence.format(place=place))


def test_what_was_begun_is_found_again_and_only_the_rest_is_prepared(place: Path) -> None:
    first = prepare_bench(planned(place), HERE, 0, NOW)
    assert len(run_folders([first.out])) == 12
    for folder in run_folders([first.out])[:5]:
        shutil.rmtree(folder.path)
    again = planned(place)
    assert [run.folder is None for run in again.runs] == [True] * 5 + [False] * 7
    done = prepare_bench(again, HERE, 0, NOW)
    assert len(run_folders([done.out])) == 12
    kept = [run.folder.path for run in done.runs[5:] if run.folder]
    assert kept == [run.folder.path for run in first.runs[5:] if run.folder], "in the same folders"


def test_a_plan_may_grow_and_runs_that_left_it_are_let_be(place: Path) -> None:
    prepare_bench(planned(place), HERE, 0, NOW)
    more = planned(place, PLAN.replace("[3, 1]", "[3, 1, 2]").replace(', "aide"', ""))
    assert [run.folder is None for run in more.runs] == [False] * 8 + [True] * 4
    assert more.foreign_runs == 4


def test_runs_that_were_begun_with_other_options_are_not_mixed_with_new_ones(place: Path) -> None:
    prepare_bench(planned(place), HERE, 0, NOW)
    with pytest.raises(UsageError, match=r"has time 60.0, but the plan says 120.0"):
        planned(place, PLAN.replace("1m", "2m"))


def test_finished_runs_are_done_and_count_as_spent(place: Path) -> None:
    found = prepare_bench(planned(place), HERE, 0, NOW)
    llm = {"calls": 1, "cost_usd": 0.5}
    finish(found, 0, 4, wall_seconds=61.5, llm=llm)
    finish(found, 2, wall_seconds=20.0, llm=llm, status="stopped")
    assert [found.runs.index(run) for run in left_to_do(found.runs)] == [1, 2, 3, *range(5, 12)]
    assert spent_by(found.runs[0]) == BenchSpending(61.5, 0.5)
    assert max_needed(found.groups[0]) == BenchSpending(120.0, 0.0)


def test_what_runs_under_way_may_yet_use_counts_as_used(place: Path) -> None:
    bench = prepare_bench(planned(place), HERE, 0, NOW)
    finish(bench, 0)
    ended, begun, *_ = bench.runs
    assert reserved(bench.runs, []) == spent_by(ended)
    assert reserved(bench.runs, [begun.key]) == spent_by(ended) + BenchSpending(60.0, 0.0)


def test_a_competition_is_begun_only_if_the_budget_covers_all_of_its_agents() -> None:
    budget = BenchBudget(time=600.0, money=6.0)
    assert refusal(budget, BenchSpending(420.0, 3.0), BenchSpending(180.0, 3.0)) is None
    assert refusal(budget, BenchSpending(450.0, 3.0), BenchSpending(180.0, 3.0)) is None, (
        "runs take a second more than their time"
    )
    assert refusal(BenchBudget(money=0.3), BenchSpending(0.0, 0.1), BenchSpending(0.0, 0.2)) is None
    assert 0.1 + 0.2 > 0.3, "by a rounding error"
    assert refusal(budget, BenchSpending(451.0, 0.0), BenchSpending(180.0, 0.0)) == (
        "the next competition's runs need up to 3 min 00 s, but only 2 min 29 s of the bench's budget of 10 min 00 s is left"
    )
    assert refusal(budget, BenchSpending(0.0, 3.5), BenchSpending(0.0, 3.0)) == (
        "the next competition's runs need up to $3.00, but only $2.50 of the bench's budget of $6.00 is left"
    )
    assert refusal(BenchBudget(), BenchSpending(1e9, 1e9), BenchSpending(1e9, 1e9)) is None


@pytest.mark.parametrize("word", [word for word in ABLATIONS if word not in ("no-labs", "no-knowledge")])
def test_each_ablation_is_one_word_and_makes_a_contender_of_its_own(place: Path, word: str) -> None:
    agent = next(name for name in AGENTS if ABLATIONS[word].part in agent_of(name).parts)
    listed = '["comind", "comind no-blend no-community", "aide"]'
    usual, without = planned(place, PLAN.replace(listed, f'["{agent}", "{agent} {word}"]')).groups[0]
    assert contender_of(without.settings).variant == (word,)
    assert contender_of(usual.settings).variant == ()
    assert without.settings != usual.settings


def test_a_dry_run_lists_the_runs_and_begins_none(bot: Bot, place: Path) -> None:
    found = planned(place, PLAN + "[budget]\ntime = '9m'\n")
    finish(prepare_bench(found, HERE, 0, NOW), 0)
    done = bot("bench", place / "plan.toml", "--dry-run")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert sum("to do" in line for line in lines) == 11
    assert sum("finished" in line for line in lines) == 2
    assert "12 runs in" in done.stdout
    assert "This plan has 2 competitions. To find a significant difference (at 5%), run at least 7" in done.stdout
    assert "take up to 11 min 00 s" in done.stdout.replace("\n", " ")
    assert "budget: 9 min 00 s of wall time, 9 min 50 s used" in done.stdout
    told = [json.loads(line) for line in bot("bench", place / "plan.toml", "--dry-run", "--json").stdout.splitlines()]
    assert told[1] == {
        "run": 2,
        "competition_id": f"{SLUG}-one",
        "seed": 3,
        "agent": "comind",
        "variant": ["no-community", "no-blend"],
        "model": "builtin",
        "seconds": 60.0,
        "max_cost": None,
        "state": "to do",
    }
