"""A rehearsal whose coder works in labs: a scripted model behind HTTP, on a small competition with news every day."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from tests.bot.coder.lab.scripted import logged, sh
from tests.bot.daemon.rehearsing import Rehearsal, rehearsal
from tests.bot.replay.scripted_answers import FILES, Answers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint
from tests.tiny_snapshot import SLUG, write_tiny

CHARACTERS = 4
"""Of a token."""
PRICE = 2.0
"""USD per million tokens."""


class LabAnswers(Answers):
    """Answers what CoMind asks; in a lab it looks around, experiments, fills the disk, and reports.

    Its tokens are those of an endpoint that caches: of a conversation only the last reply and what was seen of it are new.
    """

    def __init__(self) -> None:
        """Begin with the first lab."""
        super().__init__()
        self._lock = threading.Lock()
        self._labs = 0

    def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        messages = request.body["messages"]
        in_lab = "You work alone in a Linux shell" in messages[0]["content"]
        with self._lock:
            text = self._turn(messages) if in_lab else super().__call__(request)
        text = (text if isinstance(text, str) else text.text or "").replace('"codebase": 1', '"codebase": null')
        read_before = messages[:-2] if in_lab and len(messages) > 3 else ()
        return Reply(
            text,
            prompt_tokens=_size(messages),
            cached_tokens=_size(read_before),
            completion_tokens=len(text) // CHARACTERS,
        )

    def _turn(self, messages: Sequence[Mapping[str, Any]]) -> str:
        turn = sum(message["role"] == "assistant" for message in messages)
        self._labs += turn == 0
        strength = 10.0 ** (self._labs % 5 - 3)
        replies = [
            sh(
                "lab status; lab board --all; lab ideas; cat /lab/community/index.md; ls -R /lab/experiments | head -50; ls data"
            ),
            sh(logged(f"lab{self._labs}", strength, "--note first --files predict.py")),
            sh("seq 1 300000; head -c 6000000 /dev/urandom > model.bin; lab note 'b helps, as lab status shows'"),
            sh(f"python predict.py {strength / 2} && lab log half {FILES} --note 'half of it' --files predict.py"),
            sh("printf 'method: it is linear\\ncomponents: a and b\\nlimitations: few rows\\n' | lab done"),
        ]
        return replies[min(turn, len(replies) - 1)]


def _size(messages: Sequence[Mapping[str, Any]]) -> int:
    return len(json.dumps(messages)) // CHARACTERS


@contextmanager
def lab_days(folder: Path, *, speed: float) -> Iterator[Rehearsal]:
    """Have a site, and a model at an endpoint, for a daemon that works in labs under bubblewrap."""
    folder.chmod(0o755)
    snapshot = write_tiny(folder / SLUG)
    _post_daily(snapshot / "community")
    with ScriptedEndpoint(LabAnswers()) as endpoint:
        models = f'[models]\nbase_url = "{endpoint.url}"\nprices.x = {{ input = {PRICE}, output = {PRICE} }}\n'
        more = f"{models}[budget.day]\nmoney = 100\n"
        with rehearsal(folder, [snapshot], speed=speed, sandbox="bubblewrap", model="x", more=more) as it:
            yield it


def _post_daily(community: Path) -> None:
    """Add a message a day to the snapshot's first topic."""
    lines = (community / "messages.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    begin = datetime.fromisoformat(first["posted_at"])
    for day in range(1, 50):
        text = f"On day {day} a blend of {day % 5 + 2} linear models on a and b brought 0.00{day} in five folds."
        at = (begin + timedelta(days=day)).isoformat().replace("+00:00", "Z")
        lines.append(json.dumps({**first, "id": 1000 + day, "posted_at": at, "markdown": text}))
    (community / "messages.jsonl").write_text("\n".join(lines) + "\n")
