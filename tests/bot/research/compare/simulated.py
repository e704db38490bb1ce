"""Results of made-up benches: agents with a known skill, on competitions of varying difficulty."""

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bot.report.result import RunResult
from bot.research.compare.runs import Runs
from bot.research.contender import Contender
from tests.bot.report.finished_runs import BARE

COMPETITIONS = (
    *("spooky-author-identification", "leaf-classification", "nomad2018-predict-transparent-conductors"),
    *("aerial-cactus-identification", "denoising-dirty-documents", "mlsp-2013-birds", "random-acts-of-pizza"),
    *("google-quest-challenge", "statoil-iceberg-classifier-challenge", "stanford-covid-vaccine", "tgs-salt", "my-own"),
)


def result(competition: str, agent: str, seed: int, win_rate: float | None, **more: Any) -> RunResult:
    """Return the result of a finished replay that beats a share of the teams; None: nothing valid was handed in."""
    words = agent.split()
    rate = win_rate or 0.0
    medals = {"gold": rate >= 0.95, "silver": 0.9 <= rate < 0.95, "bronze": 0.8 <= rate < 0.9}
    content = BARE | {
        **{f"{medal}_medal": won for medal, won in medals.items()},
        "any_medal": any(medals.values()),
        "above_median": rate > 0.5,
        "run_id": f"{competition}-{agent}-{seed}",
        "competition_id": competition,
        "agent": words[0],
        "variant": words[1:],
        "model": "openai:some",
        "seed": seed,
        "score": win_rate,
        "win_rate": rate,
        "valid_submission": win_rate is not None,
        "submission_exists": True,
        "is_lower_better": False,
        "n_teams": 1000,
        "cutoff": "2020-01-01T00:00:00Z",
        "isolation": "bubblewrap",
        "sandbox": "bubblewrap",
        "chosen_node": 1,
        "time_limit": 600.0,
        "best_over_time": [[20.0, 0.5, rate / 2], [300.0, 0.6, rate]],
        "best_over_money": [[0.0, rate / 2], [0.3, rate]],
        "seconds_to_bronze": 300.0 if any(medals.values()) else None,
        "llm": {"calls": 9, "prompt_tokens": 9000, "completion_tokens": 900, "new_tokens": 9900, "cost_usd": 0.5},
        "wall_seconds": 590.0,
        "hidden_scores": {},
    }
    return RunResult.model_validate(content | more)


def rates(
    skills: Mapping[str, float],
    rng: random.Random,
    *,
    competitions: Sequence[str] = COMPETITIONS,
    seeds: int = 3,
    taste: float = 0.1,
) -> dict[str, dict[str, list[float]]]:
    """Return the share of teams that agents beat, by competition and agent, for each seed.

    Args:
        skills: what each agent adds to it.
        rng: draws everything else.
        competitions: on which they ran; each has a difficulty of its own.
        seeds: of each.
        taste: standard deviation of what an agent is better or worse at in one competition than in others.
    """
    found: dict[str, dict[str, list[float]]] = {}
    for competition in competitions:
        easy = rng.uniform(0.2, 0.7)
        for agent, skill in skills.items():
            here = easy + skill + rng.gauss(0, taste)
            drawn = [min(1.0, max(0.0, here + rng.gauss(0, 0.08))) for _ in range(seeds)]
            found.setdefault(competition, {})[agent] = drawn
    return found


def bench(skills: Mapping[str, float], rng: random.Random, **more: Any) -> Runs:
    """Return a finished bench; the arguments are those of `rates`."""
    return runs_of(
        [
            result(competition, agent, seed, rate)
            for competition, agents in rates(skills, rng, **more).items()
            for agent, each in agents.items()
            for seed, rate in enumerate(each)
        ]
    )


def runs_of(results: Iterable[RunResult]) -> Runs:
    """Return finished replays as `read_runs` does."""
    cells: dict[tuple[str, int], dict[Contender, tuple[RunResult, ...]]] = {}
    for one in results:
        cell = cells.setdefault((one.competition_id, one.seed), {})
        contender = Contender(one.agent, one.variant, one.model)
        cell[contender] = (*cell.get(contender, ()), one)
    return Runs(cells, ())


def write(results: Iterable[RunResult], folder: Path) -> Path:
    """Write a folder for each result, and return the folder of them all."""
    for number, one in enumerate(results):
        place = folder / f"run{number}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(one.model_dump_json())
    return folder
