"""Contenders: the agents that are compared."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Contender:
    """An agent, the parts that it does without, and its model."""

    agent: str
    variant: tuple[str, ...]
    """As `RunResult.variant`."""
    model: str

    def title(self, *, with_model: bool) -> str:
        """Return its name in tables, such as `comind no-blend`; with the model where several are compared."""
        return " ".join((self.agent, *self.variant)) + (f" ({self.model})" if with_model else "")
