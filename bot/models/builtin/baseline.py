"""The first node of every run: one cheap, safe model, so that there is something to hand in within minutes."""

from bot.coder import Script, TaskText
from bot.models.builtin.config import plain_config, script


def baseline_script(task: TaskText, preview: str) -> Script:
    """Return the safe baseline for any table, text, image or time-indexed task; `preview` changes nothing yet."""
    config = plain_config(task)
    plan = (
        f"A safe baseline: one {config.models[0]} model with plain features and {config.folds}-fold cross-validation."
    )
    return Script(plan=plan, code=script(config), action="draft")
