"""Rules of the coder: which CONFIG a draft asks for, how to repair a failed one, how to vary one that works."""

import random
from collections.abc import Iterator

from bot.coder import Attempt
from bot.coder.prompts import WriteScript
from bot.models.builtin.config import RecipeConfig, config_in, plain_config, script
from bot.models.builtin.tables import Printed, printed
from bot.models.builtin.techniques import (
    APPROACHES,
    TECHNIQUES,
    Technique,
    dropped,
    kind_of,
    recognised,
    suits,
    unquoted,
)

_COSTLY = ("ratios", "groups", "chars", "mirror", "gradients", "log")
_COSTLY_MODELS = ("svm", "kernel", "knn")

Change = tuple[str, RecipeConfig]
"""What is changed, in words, and the CONFIG that results."""


def reply(prompt: WriteScript, rng: random.Random) -> str:
    """Answer `write_script`: the first change of those that fit whose CONFIG was not tried yet."""
    tried = [config for a in prompt.attempts if (config := config_in(a.code)) is not None]
    if prompt.action == "draft":
        changes = _drafts(prompt, rng)
    elif prompt.action == "debug":
        changes = _repairs(prompt, rng)
    else:
        changes = _improvements(prompt, rng)
    new = [c for c in changes if c[1] not in tried]
    # A plan that earlier solutions followed is left to them where there is another.
    plan, config = next((c for c in new if c[0] not in prompt.earlier), None) or _another(prompt, tried, rng)
    return f"{plan}\n\n```python\n{script(config)}```\n"


def _drafts(prompt: WriteScript, rng: random.Random) -> Iterator[Change]:
    """What the draft's text names, on top of its codebase's CONFIG where it has one, with some variation."""
    base = config_in(prompt.codebase) if prompt.codebase else None
    config = base or plain_config(prompt.task)
    found = [t for t in recognised(unquoted(prompt.draft)) if suits(t, "text image table", config.predicts_classes)]
    if not found and base is None and not dropped(unquoted(prompt.draft), prompt.preview):
        yield from _approaches(prompt, config)
    for technique in reversed(found):  # the vocabulary's first come to stand in front
        config = technique.applied(config)
    config = config.changed(
        drop=(*config.drop, *dropped(unquoted(prompt.draft), prompt.preview)), folds=rng.choice((5, 6))
    )
    if base is None and any(t.models for t in found):
        named = {m for t in found for m in t.models}
        config = config.changed(models=[m for m in config.models if m in named])
    names = ", ".join(t.title.lower() for t in found) or "a plain model"
    yield f"The draft as one script that compares and cross-validates: {names}.", config
    trees = rng.choice((120, 150))
    yield f"The same draft with {trees} trees a forest: {names}.", config.changed(values={"trees": trees})


def _approaches(prompt: WriteScript, config: RecipeConfig) -> Iterator[Change]:
    """The usual approaches one by one, for a draft that names no technique that is known here."""
    kind = kind_of(f"{prompt.task.description}\n{prompt.preview}")
    for name, titles in APPROACHES:
        chosen = [t for t in TECHNIQUES if t.title in titles and suits(t, kind, config.predicts_classes)]
        if any(t.models for t in chosen):
            models = [m for t in chosen for m in t.models]
            approach = config
            for technique in chosen:
                approach = technique.applied(approach)
            yield f"{name}.", approach.changed(models=models)


def _repairs(prompt: WriteScript, rng: random.Random) -> Iterator[Change]:
    """A cheaper CONFIG after a time-out, a smaller one after running out of memory, the safest one after anything else."""
    last = prompt.attempts[-1] if prompt.attempts else None
    error = f"{last.error or ''}\n{last.output}".lower() if last else ""
    config = (config_in(last.code) if last else None) or plain_config(prompt.task)
    if "timed out" in error or "time limit" in error or "timeout" in error:
        yield "It took too long: fewer models, trees and folds.", _cheaper(config)
        yield "It took too long: one model in three folds.", _cheaper(config).changed(models=config.models[:1], folds=3)
    elif "memory" in error or "killed" in error:
        kept = [u for u in config.use if u not in _COSTLY]
        yield "It ran out of memory: without the large features.", config.changed(use=kept, values={"trees": 50})
    plain = plain_config(prompt.task)
    yield "It failed: back to the safest model and plain features.", plain.changed(folds=4)
    yield "It failed: the safest model, every option off.", plain.changed(folds=3, values={"trees": 50})


def _cheaper(config: RecipeConfig) -> RecipeConfig:
    models = [m for m in config.models if m not in _COSTLY_MODELS] or list(config.models[:1])
    few = {k: v[:1] if isinstance(v, list) else v for k, v in config.values.items()}
    trees = {"trees": max(30, config.values["trees"] // 2), "rounds": max(50, config.values["rounds"] // 2)}
    use = [u for u in config.use if u not in _COSTLY]
    return config.changed(models=models[:2], use=use, folds=3, values={**few, **trees})


def _improvements(prompt: WriteScript, rng: random.Random) -> Iterator[Change]:
    """Read the last CONFIG and its table back, and vary: drop, add, grow the blend, tune."""
    last = _best_shown(prompt)
    config = (config_in(last.code) if last else None) or plain_config(prompt.task)
    shown = printed(last.output if last else "")
    slimmer = _without_the_worst(config, shown)
    missing = [t for t in _missing(config, shown) if not t.models or len(slimmer.models) < 5]
    basics = [t for t in missing if set(t.use) & {"power", "blend", "logblend"}]
    others = rng.sample([t for t in missing if t not in basics], len(missing) - len(basics))
    # The draft's own words first; then what everybody does; then what else suits the data.
    wanted = {t.title for t in recognised(unquoted(prompt.draft))}
    others.sort(key=lambda t: (t.title not in wanted, not t.common))
    # Where experiments found no time, those that no blend chose make room, and one thing is added instead of two.
    start, pace = (slimmer, 1) if shown.skipped or len(config.models) > 3 else (config, 2)
    if any(name.split(" ")[0] in slimmer.models for name in shown.skipped):
        yield "Some experiments found no time: drop the models that no blend chose.", slimmer
    for first in range(0, len(others), pace):
        yield _added(start, [*others[first : first + pace], *basics])
    if basics:
        yield _added(config, basics)
    yield from _tuned(slimmer)


def _best_shown(prompt: WriteScript) -> Attempt | None:
    """Return the attempt with the best score, the latest of equals: a change that made things worse is not built on."""
    sign = 1.0 if prompt.task.direction == "minimize" else -1.0
    scored = [(sign * a.score, -place, a) for place, a in enumerate(prompt.attempts) if a.score is not None]
    return min(scored, key=lambda s: s[:2])[2] if scored else None


def _missing(config: RecipeConfig, shown: Printed) -> list[Technique]:
    """Techniques that suit the data and would change the CONFIG."""
    fitting = (t for t in TECHNIQUES if suits(t, shown.kind or "text image table", config.predicts_classes))
    return [t for t in fitting if not {*t.models} <= {*config.models} or not {*t.use} <= {*config.use}]


def _added(config: RecipeConfig, techniques: list[Technique]) -> Change:
    for technique in techniques:
        order = (*config.models, *technique.models)
        config = technique.applied(config).changed(models=order)
    return "Add: " + ", ".join(t.title.lower() for t in techniques) + ".", config


def _without_the_worst(config: RecipeConfig, shown: Printed) -> RecipeConfig:
    """Drop the models none of whose experiments a blend chose."""
    used = [m for m in config.models if any(name.startswith(f"{m} ") for name in shown.chosen.split(" + "))]
    return config.changed(models=used) if used else config


def _tuned(config: RecipeConfig) -> Iterator[Change]:
    """Vary one parameter of what is there."""
    for name, factor in (("C", 3.0), ("C", 0.3), ("alpha", 0.3), ("svm_C", 3.0), ("kernel_C", 3.0)):
        if {"C": "linear", "alpha": "nb", "svm_C": "svm", "kernel_C": "kernel"}[name] not in config.models:
            continue
        middle = sorted(config.values[name])[-1 if factor > 1 else 0]
        values = [*config.values[name], round(middle * factor, 6)][-3:]
        yield f"Try {name} = {values[-1]:g} too.", config.changed(values={name: values})
    for sizes in ({"rounds": 400, "rate": 0.04}, {"leaves": 15}, {"trees": 200}, {"leaf": 4}):
        yield f"Try other sizes of the trees: {sizes}.", config.changed(values=sizes)


def _another(prompt: WriteScript, tried: list[RecipeConfig], rng: random.Random) -> tuple[str, RecipeConfig]:
    """When every known change was tried: the last CONFIG with other sizes, until it is one not tried."""
    config = tried[-1] if tried else plain_config(prompt.task)
    while True:
        config = config.changed(
            values={"trees": rng.randrange(50, 200), "rounds": rng.randrange(50, 500)}, folds=rng.choice((4, 5, 6))
        )
        if config not in tried:
            return "Nothing known is left to add: the same with other sizes.", config
