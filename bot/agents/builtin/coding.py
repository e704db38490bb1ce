"""The coder's rules: the CONFIG for a draft, variations of a working one, the repair of failed scripts and old kernels."""

import hashlib
import random
import re
from collections.abc import Iterator

from bot.agents.builtin.config import (
    CONSTANT,
    FEW_FOLDS,
    SIMPLE,
    RecipeConfig,
    config_in,
    features_script,
    infer_script,
    plain_config,
    script,
)
from bot.agents.builtin.reports import best_attempt, chosen_models
from bot.agents.builtin.techniques import Technique, kinds_in, named_in, suitable, suits
from bot.agents.tree.prompts import WriteTreeScript
from bot.coder.prompts import INFER_MARK, WriteScript
from bot.community.reproduction.repair import RepairKernel
from bot.engine.strategy import Script
from bot.execution.task import TaskText
from state.errors import ModelRefused

_RENAMED = tuple(
    (re.compile(old), new)
    for old, new in (
        (r"\bsklearn\.(?:cross_validation|grid_search|learning_curve)\b", "sklearn.model_selection"),
        (r"\bfrom sklearn\.externals import joblib\b", "import joblib"),
        (r"\bfrom sklearn\.externals\.joblib\b", "from joblib"),
        (r"\bfrom sklearn\.preprocessing import Imputer\b", "from sklearn.impute import SimpleImputer as Imputer"),
        (r"\bget_feature_names\(\)", "get_feature_names_out()"),
        (r"\bOneHotEncoder\(sparse=", "OneHotEncoder(sparse_output="),
        (r"\bloss=(['\"])log\1", "loss='log_loss'"),
        (r"\bmax_features=(['\"])auto\1", "max_features='sqrt'"),
        (r"\bbase_estimator=", "estimator="),
        (r"\bnp\.(int|float|bool|object|str)\b(?!_)", r"\1"),
        (r"\.as_matrix\(\)", ".values"),
        (r"\.ix\[", ".loc["),
        (r"(\w+)\.append\((\w+), ignore_index=True\)", r"pd.concat([\1, \2], ignore_index=True)"),
        (r"\.iteritems\(\)", ".items()"),
        (r"\bxrange\(", "range("),
        (r"\bunicode\(", "str("),
        (r"\bimport cPickle as\b", "import pickle as"),
        (r"\bfrom StringIO import\b", "from io import"),
        (r"\bpd\.read_csv\(([^()]*), error_bad_lines=False", r"pd.read_csv(\1, on_bad_lines='skip'"),
        (r", squeeze=True\)", ").squeeze('columns')"),
    )
)
_FREE = ("power calibration", "blend", "geometric mean")
"""Techniques that cost next to nothing and nearly always help."""
_COSTLY = ("more trees", "ratios", "character n-grams")

Change = tuple[str, RecipeConfig]
"""A change in words, and the CONFIG with it."""


def baseline_script(task: TaskText, preview: str) -> Script:
    """Return the baseline for a table, text, image or time-indexed task; `preview` is not used."""
    config = plain_config(task)
    plan = f"Baseline: one cross-validated {config.use[0]}."
    features = features_script(config)
    return Script(plan=plan, code=script(config), action="draft", infer=infer_script(config), features=features)


def simple_scripts(task: TaskText, *, by_time: bool) -> tuple[Script, ...]:
    """Return the simple models that a result on own data is compared with; the last season only for later rows."""
    plans = ("HistGradientBoosting with defaults", CONSTANT, *(["the last value or season"] if by_time else []))
    configs = [
        (plan, plain_config(task).model_copy(update={"use": (switch,)}))
        for plan, switch in zip(plans, SIMPLE, strict=False)
    ]
    return tuple(Script(plan, script(config), "draft", infer_script(config)) for plan, config in configs)


def reply(prompt: WriteScript, seed: int) -> str:
    """Answer `write_script` with the first change whose CONFIG and plan are new."""
    earlier_configs = [config_in(a.code) for a in prompt.attempts]
    changes = {"draft": _drafts, "debug": _repairs, "improve": _improvements}[prompt.action]
    # The same in equal runs, whatever times their outputs contain.
    words = "\0".join([prompt.title, prompt.action, prompt.draft, *(a.code for a in prompt.attempts)])
    rng = random.Random(f"{seed}:{hashlib.sha256(words.encode()).hexdigest()}")  # noqa: S311 - for variety alone
    new = (c for c in changes(prompt, rng) if c[1] not in earlier_configs and c[0] not in _memory(prompt))
    plan, config = next(new)
    infer = infer_script(config)
    second = "" if infer is None else f"\n```python\n{INFER_MARK}\n{infer}```\n"
    return f"{plan}\n\n```python\n{script(config)}```\n{second}"


def _memory(prompt: WriteScript) -> str:
    return prompt.memory if isinstance(prompt, WriteTreeScript) else ""


def _drafts(prompt: WriteScript, rng: random.Random) -> Iterator[Change]:
    """Yield the techniques that the draft names, on top of its codebase; without any, those that earlier solutions lack."""
    plain, base = plain_config(prompt.task), config_in(prompt.codebase or "")
    titles = [t for t in named_in(prompt.draft) if suits(t, kinds_in(prompt.preview), plain.metric)]
    if not titles:
        techniques = _shuffled(prompt, rng)
        new = [t for t in techniques if t.title not in named_in(_memory(prompt))] or techniques
        titles = [t.title for t in (*[t for t in new if t.family][:2], *[t for t in new if not t.family][:1])]
    config = (base or plain).using((*(base or plain).use, *titles))
    yield from _seeds(f"One script that cross-validates and compares: {', '.join(config.use)}.", config, rng)


def _repairs(prompt: WriteScript, rng: random.Random) -> Iterator[Change]:
    """Yield cheaper CONFIGs after time or memory ran out; else the safest one."""
    last, plain = prompt.attempts[-1], plain_config(prompt.task)
    config, error = config_in(last.code) or plain, f"{last.error or ''}\n{last.output}".lower()
    if any(word in error for word in ("timed out", "time limit", "timeout", "memory", "killed")):
        cheap = [u for u in config.use if u not in _COSTLY and u not in config.families[2:]]
        yield (
            "It needed too much time or memory: use fewer models, features and folds.",
            config.using((*cheap, FEW_FOLDS)),
        )
        yield (
            "It needed too much time or memory: use one model with three folds.",
            config.using((*config.families[:1], FEW_FOLDS)),
        )
    yield from _seeds("It failed: fall back to the safest model and plain features.", plain, rng)


def _improvements(prompt: WriteScript, rng: random.Random) -> Iterator[Change]:
    """Build on the best script: drop models that no blend chose, add what the draft names, then other suitable techniques."""
    top, draft_titles = best_attempt(prompt.attempts, prompt.task), named_in(prompt.draft)
    config = config_in(top.code if top else "") or plain_config(prompt.task)
    names = chosen_models(top.output if top else "")
    idle = [f for f in config.families if names and not any(name.startswith(f) for name in names)]
    useful = [u for u in config.use if u not in idle]
    missing = [t for t in _shuffled(prompt, rng) if t.title not in config.use]
    missing.sort(key=lambda t: (t.title not in draft_titles, not t.common))
    free = [t.title for t in missing if t.title in _FREE]
    costly = [t.title for t in missing if t.title not in _FREE]
    for first in range(0, len(costly), 2):
        new = [*free, *costly[first : first + 2]]
        yield f"Add: {', '.join(new)}.", config.using((*useful, *new))
    yield from _seeds("Nothing left to add: use different folds.", config.using((*useful, *free)), rng)


def _shuffled(prompt: WriteScript, rng: random.Random) -> list[Technique]:
    """Return the techniques that suit the previewed data, in random order."""
    techniques = suitable(kinds_in(prompt.preview), prompt.task.metric)
    return rng.sample(techniques, len(techniques))


def _seeds(plan: str, config: RecipeConfig, rng: random.Random) -> Iterator[Change]:
    """Yield the same CONFIG with other folds and trees, without end."""
    while True:
        seed = rng.randrange(10_000)
        yield f"{plan} Seed {seed}.", config.model_copy(update={"seed": seed})


def repair_kernel(prompt: RepairKernel) -> str:
    """Answer `repair_kernel`; raises ModelRefused if no name in the script has a known replacement."""
    script = prompt.script
    for old, new in _RENAMED:
        script = old.sub(new, script)
    if script == prompt.script:
        raise ModelRefused("no name in the script has a known replacement in newer packages")
    return f"Names updated for newer package versions.\n\n```python\n{script}```\n"
