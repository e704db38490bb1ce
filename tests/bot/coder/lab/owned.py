"""A run with one lab in which a tiny agent works, whose model is scripted; everything in it is real."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.coder.coder_config import ChosenCoder, OwnCoder
from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.playbook import LabPlaybook
from bot.coder.lab.settings import LabSettings
from bot.engine.context import RunContext
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import Tree
from bot.models.pricing import Price, Pricing
from bot.simulator.scripted_model import ScriptedModel, serving
from tests.bot.coder.lab.scripted import FewLabs, lived
from tests.bot.models.parts import model_at

MODEL = "tiny-model"
PRICE = Price(input=2.0, output=8.0, cached=0.5)
_PROGRAM = Path(__file__).parents[1] / "tiny_agent.py"


def tiny(*options: object, command: str | None = None) -> OwnCoder:
    """Return the tiny agent with its options, or another command."""
    line = f"exec python3 {_PROGRAM} {' '.join(map(str, options))}"
    return OwnCoder(name="tiny", model=MODEL, command=command or line, dialect="chat", files=(_PROGRAM,))


class OneLab(FewLabs):
    """A policy and a briefing for one lab of so many seconds at the most."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return its task."""
        return LabAssignment(title="a test", draft="Do as you are told.", max_seconds=self._seconds)


def strategy(context: RunContext, seconds: float = 600.0, settings: LabSettings | None = None) -> Strategy:
    """Return the strategy of one lab."""

    async def finish(tree: Tree) -> None:
        """Do nothing."""

    one = OneLab(seconds)
    return Strategy("test", one, {"lab": LabPlaybook(context, one, settings or LabSettings())}, finish)


@asynccontextmanager
async def worked(
    folder: Path,
    coder: OwnCoder,
    scripted: ScriptedModel,
    agent: Callable[[RunContext], Strategy] = strategy,
    **more: Any,
) -> AsyncIterator[RunContext]:
    """Give a run after its lab has ended; one that is in the folder goes on."""
    with serving(scripted):
        chosen = ChosenCoder(agent=coder)
        async with (
            model_at(scripted.address, name=MODEL, pricing=Pricing({MODEL: PRICE})) as model,
            lived(folder, model, agent=agent, coder=chosen, **more) as context,
        ):
            yield context
