"""A script's CONFIG: the switches of the recipe, written into a script and read back from one."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel, ConfigDict, ValidationError

from bot.coder import TaskText

_IN_CODE = re.compile(r"^CONFIG = (\{\n.*?\n\})$", re.DOTALL | re.MULTILINE)
_CLASS_METRICS = ("log_loss", "auc", "accuracy", "f1", "kappa", "entropy")


class RecipeConfig(BaseModel):
    """What one script tries; the recipe passes over what does not suit the data it finds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: str
    id: str
    models: tuple[str, ...]
    """Model families, the most important first."""
    use: tuple[str, ...] = ()
    """Features and techniques that are switched on."""
    drop: tuple[str, ...] = ()
    """Columns and calendar parts that are left out."""
    folds: int = 5
    values: Mapping[str, Any]
    """Parameters; a list is tried value by value."""

    @property
    def predicts_classes(self) -> bool:
        """Whether the metric is one of classes."""
        return predicts_classes(self.metric)

    def changed(self, **changes: Any) -> "RecipeConfig":
        """Return a copy; `models`, `use` and `drop` lose repetitions, `values` are laid over the present ones."""
        values = {**self.values, **changes.pop("values", {})}
        lists = {name: tuple(dict.fromkeys(items)) for name, items in changes.items() if name != "folds"}
        return self.model_copy(update={**changes, **lists, "values": values})


def predicts_classes(metric: str) -> bool:
    """Return whether the metric of this name scores classes or their probabilities."""
    return any(word in metric for word in _CLASS_METRICS)


def plain_config(task: TaskText) -> RecipeConfig:
    """Return the safe start: one robust model on plain features."""
    models = ("linear",) if predicts_classes(task.metric) else ("forest",)
    values = {"C": [1.0], "svm_C": [3.0], "kernel_C": [100.0], "alpha": [1.0]}
    trees = {"trees": 100, "leaf": 2, "rounds": 150, "rate": 0.08, "leaves": 31}
    return RecipeConfig(metric=task.metric, id=task.id_column, models=models, values={**values, **trees})


def script(config: RecipeConfig) -> str:
    """Return the whole solution script with this CONFIG at its top."""
    lines = [f"    {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}," for k, v in config.model_dump().items()]
    literal = "{\n" + "\n".join(lines).rstrip(",") + "\n}"
    return _templates().get_template("solution.py.j2").render(config=literal) + "\n"


def config_in(code: str) -> RecipeConfig | None:
    """Return the CONFIG of a script of ours; None for anybody else's."""
    found = _IN_CODE.search(code)
    if found is None:
        return None
    try:
        return RecipeConfig.model_validate_json(found[1])
    except ValidationError:
        return None


@cache
def _templates() -> Environment:
    # The result is Python, not a page: escaping would break it.
    loader = PackageLoader("bot.models.builtin", "recipe")
    return Environment(loader=loader, undefined=StrictUndefined, autoescape=False, trim_blocks=True)  # noqa: S701
