"""A script's CONFIG: the switches of the recipe, written into a script and read back from one."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from bot.agents.builtin.techniques import predicts, predicts_classes, vocabulary
from bot.evaluation.metrics.registry import METRICS
from bot.execution.task import TaskText
from state.closed_model import ClosedModel

PARTS = ("first_answers.py.txt", "recipe.py.txt")
"""The parts of a script; the first writes plain answers with the standard library, before anything else is imported."""
CONSTANT = "a constant"
SIMPLE = ("defaults of boosting", CONSTANT, "last season")
"""Switches of simple models: a script with one tries nothing else."""
FEW_FOLDS = "few folds"
"""The one switch that is not a technique: three folds instead of six."""

_IN_CODE = re.compile(r"^CONFIG = (\{\n.*?\n\})$", re.DOTALL | re.MULTILINE)
Part = Literal["all", "train", "infer", "features"]


class RecipeConfig(ClosedModel):
    """The choices of one script; the recipe skips what does not suit its data."""

    metric: str
    id: str
    use: tuple[str, ...]
    """Titles of techniques, `without COLUMN`, and FEW_FOLDS."""
    seed: int = 0
    part: Part = "all"
    """Whether the script does all, or trains and saves what prediction needs, or predicts with that, or only writes its
    features."""

    @property
    def families(self) -> tuple[str, ...]:
        """The kinds of models in use."""
        return tuple(u for u in self.use if u in vocabulary() and vocabulary()[u].family)

    def using(self, titles: Iterable[str]) -> "RecipeConfig":
        """Return a copy that also uses these and their requirements, in the vocabulary's order: equal sets give equal CONFIGs."""
        techniques = vocabulary()
        closure = {title for t in titles for title in (t, *(techniques[t].brings if t in techniques else ()))}
        in_order = (*(t for t in techniques if t in closure), *sorted(closure - techniques.keys()))
        return self.model_copy(update={"use": in_order})


def plain_config(task: TaskText) -> RecipeConfig:
    """Return the safe start: one robust model on plain features."""
    use = ("linear model",) if predicts_classes(task.metric) else ("random forest",)
    part: Part = "train" if task.notebook or task.stores_models else "all"
    return RecipeConfig(metric=task.metric, id=task.id_column, use=use, part=part)


def script(config: RecipeConfig) -> str:
    """Return the whole solution script with this CONFIG at its top."""
    return "".join(parts_of(config))


def infer_script(config: RecipeConfig) -> str | None:
    """Return the script that predicts with what the one with this CONFIG saves; None where that saves nothing."""
    return script(config.model_copy(update={"part": "infer"})) if config.part == "train" else None


def features_script(config: RecipeConfig) -> str:
    """Return the script that writes the features of the one with this CONFIG, for the portfolio."""
    return script(config.model_copy(update={"part": "features"}))


def parts_of(config: RecipeConfig) -> tuple[str, ...]:
    """Return the parts of the script with this CONFIG, each of which can run after those before it."""
    facts, parts = METRICS.get(config.metric), []
    for name in PARTS:
        text = Path(__file__).with_name(name).read_text(encoding="utf-8")
        text = text.replace("{{ config }}", config.model_dump_json(indent=4))
        text = text.replace("{{ varies }}", str(None if facts is None else not facts.scores_constants))
        parts.append(text.replace("{{ predicts }}", predicts(config.metric)))
    return tuple(parts)


def config_in(code: str) -> RecipeConfig | None:
    """Return the CONFIG of a script that this model wrote and may build on; None for any other script."""
    match = _IN_CODE.search(code)
    try:
        config = RecipeConfig.model_validate_json(match[1]) if match else None
    except ValidationError:
        return None
    return None if config is None or config.use[:1] in [(switch,) for switch in SIMPLE] else config
