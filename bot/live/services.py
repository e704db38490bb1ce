"""What the competitions of one daemon share: passed in, never global."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bot.budgets.levels import Level
from bot.configuration import Settings
from bot.engine.services import SharedServices
from bot.live.slots import Slots
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.polling.poller import Poller
from state.clock import Clock
from state.store import Store


@dataclass(frozen=True)
class Shared:
    """Services and settings; `settings` are those at the start, while each competition's own may change later."""

    folder: Path
    """Holds bot.db, the competitions' data and the runs."""
    file: Path | None
    settings: Settings
    store: Store
    clock: Clock
    speed: float
    """The clock's seconds per second of the machine."""
    client: KaggleClient
    poller: Poller
    machinery: SharedServices
    gpus: int
    """How many a script gets."""
    day: Level
    slots: Slots
    say: Callable[[str, str], None]
    """Logs a line of progress; takes the competition's name and the line."""

    def competition(self, slug: str) -> Path:
        """Return a competition's folder."""
        return competition_folder(self.folder, slug)

    @property
    def runs(self) -> Path:
        """The folder that holds the runs' folders."""
        return self.folder / "runs"


def competition_folder(state: Path, slug: str) -> Path:
    """Return a competition's folder within the daemon's."""
    return state / "competitions" / slug
