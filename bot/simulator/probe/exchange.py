"""A question put to Kaggle and its answer, as a file that tests read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from scrapers.kaggle.wire import ApiResponse

AnswerT = TypeVar("AnswerT", bound=ApiResponse)


@dataclass(frozen=True)
class ProbeExchange:
    """One question and what came of it."""

    name: str
    """Which question of the probe it is."""
    method: str
    request: Mapping[str, Any]
    with_key: bool
    status: int | None
    """Of HTTP; None: no answer came."""
    headers: Mapping[str, str]
    """Those that matter here."""
    answer: Any = field(default=None)
    """Decoded JSON, of a refusal too (text that is no JSON stays text); for a download `{"location": ADDRESS}`."""

    @property
    def answered(self) -> bool:
        """Whether it was answered, and not refused."""
        return self.status is not None and self.status < 400

    def read(self, kind: type[AnswerT]) -> AnswerT:
        """Read the answer as the client does. Raises pydantic's ValidationError."""
        return kind.read(self.answer, datetime.fromtimestamp(0, UTC))  # type: ignore[return-value]


def write_exchanges(folder: Path, exchanges: Sequence[ProbeExchange]) -> None:
    """Write each as a file of its own, in the order of the questions; the folder is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, exchange in enumerate(exchanges, 1):
        text = json.dumps(asdict(exchange), indent=1, ensure_ascii=False)
        (folder / f"{number:02d}-{exchange.name}.json").write_text(f"{text}\n", encoding="utf-8")


def read_exchanges(folder: Path) -> tuple[ProbeExchange, ...]:
    """Read what `write_exchanges` wrote, in order."""
    files = sorted(folder.glob("[0-9][0-9]-*.json"))
    return tuple(ProbeExchange(**json.loads(file.read_text(encoding="utf-8"))) for file in files)
