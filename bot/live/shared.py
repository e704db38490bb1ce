"""What the competitions of one daemon share: handed in, never global."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bot.budgets.levels import Level
from bot.configuration import Settings
from bot.engine.services import Machinery
from bot.live.slots import Slots
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.polling.poller import Poller
from state.clock import Clock
from state.store import Store


@dataclass(frozen=True)
class Shared:
    """Services and settings; `settings` are those of the start, of which a competition's own may change meanwhile."""

    folder: Path
    """Of bot.db, the competitions' data and the runs."""
    file: Path | None
    """bot.toml."""
    settings: Settings
    store: Store
    clock: Clock
    speed: float
    """The clock's seconds in one of the machine's."""
    client: KaggleClient
    poller: Poller
    machinery: Machinery
    gpus: int
    """That a script holds."""
    day: Level
    slots: Slots
    say: Callable[[str, str], None]
    """Logs a line of progress, of a competition."""

    def competition(self, slug: str) -> Path:
        """Return a competition's folder."""
        return self.folder / "competitions" / slug

    @property
    def runs(self) -> Path:
        """The folder that holds the runs' folders."""
        return self.folder / "runs"
