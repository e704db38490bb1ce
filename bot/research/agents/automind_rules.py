"""The rule-based model's answers to AutoMind's prompts: a plan that names techniques, its complexity, and its two substeps."""

import hashlib
import json
import random
from collections.abc import Sequence

from bot.agents.builtin.config import FEW_FOLDS, config_in, parts_of, plain_config
from bot.agents.builtin.techniques import Technique, kinds_in, method_text, named_in, suitable, suits
from bot.research.agents.automind_prompts import PlanSolution, ScorePlan, SplitPlan, WriteSubstep

_FIRST = "First write a baseline to both files using only the standard library, before importing anything else."


def plan(prompt: PlanSolution, seed: int) -> str:
    """Answer `plan_solution` with techniques that the knowledge names, else with some that were not used yet."""
    rng = _rng(prompt, seed)
    if prompt.action == "debug":
        return (
            "Make it cheaper or safer.\nKeep what works, drop what failed, and choose what needs less time and memory."
        )
    if prompt.action == "improve" and prompt.parent is not None:
        config = config_in(prompt.parent.code)
        names = config.use if config else ()
        tried_titles = [title for result in prompt.results for title in named_in(result.title)]
        titles = _fresh(prompt, rng, [*names, *tried_titles])[:2]
        return _recipe(
            "Add", titles, f"Leave the rest of node {prompt.parent.node} unchanged; compare the additions in its table."
        )
    fresh = _fresh(prompt, rng, named_in(prompt.earlier))
    families = [t.title for t in _suitable(prompt) if t.family]
    # Of kinds of models there are few; of what goes with them there is always more.
    models = [t for t in fresh if t in families] or rng.sample(families, len(families))
    titles = [*models[:2], *[t for t in fresh if t not in families][:2]]
    return _recipe("Compare", titles, "Cross-validate each one, print a table of the scores, and submit the best.")


def _recipe(verb: str, titles: Sequence[str], end: str) -> str:
    return "\n".join((f"{verb} {', '.join(titles)}.", *map(method_text, titles), end))


def _fresh(prompt: PlanSolution, rng: random.Random, used_titles: Sequence[str]) -> list[str]:
    """Return the suitable techniques that are not used, those that the knowledge names first; all if none is left."""
    suitable = _suitable(prompt)
    mentioned = [t for t in named_in(prompt.knowledge) if suits(t, kinds_in(prompt.preview), prompt.task.metric)]
    by_luck = rng.sample([t.title for t in suitable], len(suitable))
    candidates = list(dict.fromkeys((*mentioned, *by_luck)))
    return [title for title in candidates if title not in used_titles] or candidates


def _suitable(prompt: PlanSolution) -> list[Technique]:
    return suitable(kinds_in(prompt.preview), prompt.task.metric)


def _rng(prompt: PlanSolution, seed: int) -> random.Random:
    """Return a random generator that is the same in equal runs, although outputs contain different times."""
    parent = prompt.parent.code if prompt.parent else ""
    words = "\0".join([prompt.action, parent, *(str(result.node) for result in prompt.results), prompt.earlier])
    return random.Random(f"{seed}:{hashlib.sha256(words.encode()).hexdigest()}")  # noqa: S311 - for variety alone


def complexity(prompt: ScorePlan, seed: int) -> str:
    """Answer `score_plan` by how many techniques a plan names."""
    names = named_in(prompt.plan)
    return json.dumps({"complexity": min(5, max(1, len(names))), "why": f"it names {', '.join(names) or 'nothing'}"})


def split(prompt: SplitPlan, seed: int) -> str:
    """Answer `split_plan`: the recipe has two parts."""
    return json.dumps({"substeps": [_FIRST, f"Then carry out the plan: {prompt.plan}"[:2_000]]}, ensure_ascii=False)


def substep(prompt: WriteSubstep, seed: int) -> str:
    """Answer `write_substep` with the recipe's next part; after a failure with a CONFIG that costs less."""
    before = config_in(prompt.earlier_substeps.code) if prompt.earlier_substeps else None
    if before is None:  # that of the script that the plan changes, or the plain one, with what the plan names
        before = (config_in(prompt.parent.code) if prompt.parent else None) or plain_config(prompt.task)
        titles = [t for t in named_in(prompt.plan) if suits(t, kinds_in(prompt.preview), prompt.task.metric)]
        before = before.using((*before.use, *titles))
    number = min(prompt.number, 2)
    code = parts_of(before)[number - 1]
    if prompt.failed is None:
        introduction = f"Part {number} of the recipe."
    elif number == 2:
        cheaper = before.using((*before.families[:1], FEW_FOLDS))
        code = f"USE = set({json.dumps(cheaper.use)})  # the whole CONFIG failed\n{code}"
        introduction = "It failed: use one model with three folds."
    else:
        code = parts_of(plain_config(prompt.task))[0]
        introduction = "It failed: use the safest model and plain features."
    return f"{introduction}\n\n```python\n{code}```\n"
