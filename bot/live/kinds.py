"""What the bot can do in each kind of competition: a sentence for its owner, said once, before anything is fetched."""

from collections.abc import Mapping
from dataclasses import dataclass

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import KaggleCompetition
from scrapers.kaggle.kinds import DetectedKind, KindName, detect_kinds

_ONLY_READS = "the bot only reads its forum and public notebooks"
SENTENCES: Mapping[KindName, str] = {
    "notebooks": "accepts notebooks, which Kaggle reruns on hidden test data: the bot tests each notebook on this machine, "
    "pushes it as your private notebook, and submits it",
    "simulation": f"is a simulation in which agents play against each other: {_ONLY_READS}",
    "agents": f"accepts agents, which the bot cannot build yet: {_ONLY_READS}",
    "models": f"accepts trained models, which the bot cannot submit yet: {_ONLY_READS}",
    "hackathon": f"is a hackathon with write-ups as entries: {_ONLY_READS}",
    "judged": f"is judged by people, not by a metric: {_ONLY_READS}",
    "two-stages": "has two stages: the bot works on the first, notifies you when the data is replaced, and leaves the "
    "second to you",
    "huge-data": "has {size} GB of data: the bot downloads all of it, which takes a long time and needs up to twice "
    "that space",
}
"""What follows the competition's name."""
NO_ROOM = "has {size} GB of data, but only {free} GB is free on this machine: free some space first"
IF_WRONG = 'if that is wrong, set kind = "csv" under [competitions.{slug}] in bot.toml'
_WORKED_ON: tuple[KindName, ...] = ("notebooks", "two-stages", "huge-data")
_GB = 1e9


@dataclass(frozen=True)
class CompetitionKind:
    """A kind that a competition is of."""

    name: KindName
    sentence: str
    """Without the competition's name."""
    source: str
    worked_on: bool
    """Whether the bot works on it all the same."""

    def __str__(self) -> str:
        """Return the sentence with what says so."""
        return f"{self.sentence} ({self.source})"


async def kinds_of(
    client: KaggleClient, competition: KaggleCompetition, free: int | None
) -> tuple[CompetitionKind, ...]:
    """Ask Kaggle for the kinds that a competition is of; `free` is bytes of disk, None where its data is here already."""
    return tuple(in_words(kind, free) for kind in await detect_kinds(client, competition))


def in_words(recognised: DetectedKind, free: int | None) -> CompetitionKind:
    """Return a kind that was recognised with its sentence; `free` is as above."""
    size = round(recognised.bytes / _GB)
    if recognised.kind == "huge-data" and free is not None and recognised.bytes > free:
        sentence = NO_ROOM.format(size=size, free=round(free / _GB))
        return CompetitionKind(recognised.kind, sentence, recognised.source, worked_on=False)
    sentence = SENTENCES[recognised.kind].format(size=size)
    return CompetitionKind(recognised.kind, sentence, recognised.source, recognised.kind in _WORKED_ON)
