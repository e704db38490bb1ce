"""What more slots bring a search: `python -m tests.bench.bench_many_slots`. Simulated, with the agents' real policies.

For 1 to 128 slots: the gap (1: the safe baseline's; see `tests.bench.stored_draws`) of the best finalist after a fifth, half
and all of a run of five hours, where all slots work on one tree, and where each works on a tree of its own and the finalists
are the best of all trees; and how busy the slots of the one tree are. Once with exact scores, once with noise as stored
comparisons have it. Takes a quarter of an hour on one core, nearly all of it for 128 slots.
"""

from collections.abc import Callable, Sequence
from itertools import product
from statistics import mean

from bot.agents.comind.lineage import LabsPolicy
from bot.agents.tree.policy import PRESETS, TreeSearchPolicy
from bot.engine.strategy import Policy
from tests.bench.simulated_search import Simulation
from tests.bench.stored_draws import Draws

HOURS = 5.0
MOMENTS = (0.2, 0.5, 1.0)
SLOTS = {1: 48, 2: 48, 8: 24, 32: 8, 128: 2}
"""And runs of each that are averaged."""
FINALISTS = 5
POLICIES: dict[str, Callable[[], Policy]] = {
    "comind, labs": LabsPolicy,
    "aide": lambda: TreeSearchPolicy(PRESETS["aide"]),
}


def best_at(runs: Sequence[Simulation], moment: float) -> float:
    """Return the gap of the best finalist at a moment: of the few scripts that look best, of all these runs together."""
    scored = (one for run in runs for one in run.found if one.at <= moment)
    return min(one.true for one in sorted(scored, key=lambda one: one.seen)[:FINALISTS])


def ran(policy: Callable[[], Policy], draws: Draws, slots: int, seed: int, noisy: bool) -> Simulation:
    """Return a run that has ended."""
    run = Simulation(policy(), draws, slots, HOURS * 3600, seed, noisy)
    run.run()
    return run


def main() -> None:
    """Print the table."""
    draws, most = Draws.read(), max(slots * runs for slots, runs in SLOTS.items())
    columns = [f"{moment * HOURS:g} h" for moment in MOMENTS]
    print(f"| agent | slots | {' | '.join(columns)} | {' | '.join(f'{one} apart' for one in columns)} | busy |")
    print("|---|---" + "|---" * (2 * len(MOMENTS) + 1) + "|")
    for noisy, (name, policy) in product((False, True), POLICIES.items()):
        title = f"{name}, {'scores with noise' if noisy else 'exact scores'}"
        alone = [ran(policy, draws, 1, 1_000_000 + number, noisy) for number in range(most)]
        for slots, runs in SLOTS.items():
            together = [ran(policy, draws, slots, seed, noisy) for seed in range(runs)]
            apart = [alone[number * slots : (number + 1) * slots] for number in range(runs)]
            cells = [mean(best_at([run], m * HOURS * 3600) for run in together) for m in MOMENTS]
            cells += [mean(best_at(those, m * HOURS * 3600) for those in apart) for m in MOMENTS]
            busy = mean(run.busy / (slots * HOURS * 3600) for run in together)
            print(f"| {title} | {slots} | {' | '.join(f'{one:.3f}' for one in cells)} | {busy:.0%} |", flush=True)


if __name__ == "__main__":
    main()
