"""A run with one lab in which a tiny agent works, whose model is a scripted endpoint; everything in it is real."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.playbook import LabPlaybook
from bot.coder.lab.settings import LabSettings
from bot.coder.own import ChosenCoder, OwnCoder
from bot.coder.scripted.dialects import Asked, Counted, Json, Said
from bot.coder.scripted.endpoint import Endpoint, serving
from bot.engine.context import RunContext
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import Tree
from bot.models.pricing import Price, Pricing
from tests.bot.coder.lab.scripted import SOLUTION, FewLabs, lived
from tests.bot.models.parts import model_at

MODEL = "tiny-model"
PRICE = Price(input=2.0, output=8.0, cached=0.5)
_PROGRAM = Path(__file__).parents[1] / "tiny_agent.py"


class Remembering(Endpoint):
    """Keeps the text of each request."""

    def __init__(self, commands: Sequence[str]) -> None:
        super().__init__(commands)
        self.requests: list[str] = []

    def answer(self, dialect: str, body: Json, size: int) -> tuple[Asked, Said, Counted]:
        """Keep it, and answer."""
        self.requests.append(str(body))
        return super().answer(dialect, body, size)


def tiny(*options: object, command: str | None = None) -> OwnCoder:
    """Return the tiny agent with its options, or another command."""
    line = f"exec python3 {_PROGRAM} {' '.join(map(str, options))}"
    return OwnCoder(name="tiny", model=MODEL, command=command or line, dialect="chat", files=(_PROGRAM,))


def scored(strength: float) -> str:
    """Return a command that writes a script and has it scored."""
    return f"cat > solution.py <<'EOF'\n{SOLUTION.replace('STRENGTH', str(strength))}\nEOF\nlab score solution.py"


class OneLab(FewLabs):
    """A policy and a briefing for one lab of so many seconds at the most."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    async def lab(self, action: Action, node: int, tree: Tree) -> LabAssignment:
        """Return its task."""
        return LabAssignment(title="a test", draft="Do as you are told.", most=self._seconds)


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
    endpoint: Endpoint,
    agent: Callable[[RunContext], Strategy] = strategy,
    **more: Any,
) -> AsyncIterator[RunContext]:
    """Give a run after its lab has ended; one that is in the folder goes on."""
    with serving(endpoint):
        chosen = ChosenCoder(own=coder)
        async with (
            model_at(endpoint.address, name=MODEL, pricing=Pricing({MODEL: PRICE})) as model,
            lived(folder, model, agent=agent, coder=chosen, **more) as context,
        ):
            yield context
