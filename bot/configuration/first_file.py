"""The first bot.toml: a dozen lines for one competition, with every file held until its owner approves it."""

from dataclasses import dataclass
from pathlib import Path

from bot.configuration.toml_values import toml_key, toml_value
from sandbox import BackEndChoice


@dataclass(frozen=True)
class FirstFile:
    """What goes into it."""

    competition: str
    model: str | None
    """As in bot.toml: a name, or `builtin`; None: as the environment says."""
    money_a_day: float | None
    """USD; None: no cap."""
    sandbox: BackEndChoice
    site: str | None = None
    """The address of `bot rehearse`; None: Kaggle itself."""
    state: Path | None = None
    """The daemon's folder; None: the usual one."""

    def text(self) -> str:
        """Return the file."""
        lines = ["# Written by `bot init`; `bot config example` shows every key.", "[daemon]"]
        if self.state is not None:
            lines.append(_line("dir", self.state))
        if self.site is not None:
            lines += [_line("rehearsal", True, "go by the site's clock"), "", "[kaggle]", _line("url", self.site)]
        lines += ["", "[run]", _line("sandbox", self.sandbox, "where scripts run")]
        lines += ["", f"[competitions.{toml_key(self.competition)}]"]
        lines.append(_line("submit", True, "without this nothing is ever sent"))
        lines.append(_line("approve", "ask", "each file is held until `bot approve`"))
        if self.model is not None:
            lines.append(_line("model", self.model))
        if self.money_a_day is not None:
            lines.append(_line("max_cost_per_day", self.money_a_day, "USD"))
        return "\n".join(lines) + "\n"


def _line(key: str, value: object, comment: str = "") -> str:
    return f"{key} = {toml_value(value)}" + (f"  # {comment}" if comment else "")
