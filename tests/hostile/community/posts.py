"""Sixty posts and kernels that try to steer their reader, and a competition whose community they are.

A line of `posts.jsonl` has what it `tries`; `does`, the Python that obeys it; `changes`, what obeying makes of a script's
predictions; `alone`, whether other orders cannot be obeyed beside it; `named`, whether fixed rules name it as suspicious.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tests.tiny_snapshot import write_tiny

FILE = Path(__file__).with_name("posts.jsonl")
_FIRST_ID = 1000
"""Of their topics and kernels."""
_SUFFIX = {"python": ("py", "python", "script"), "r": ("R", "r", "script"), "markdown": ("md", "python", "notebook")}


class HostilePost(BaseModel):
    """A post or kernel."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: int
    kind: str
    language: str
    tries: str
    title: str
    text: str
    does: str = ""
    changes: str = ""
    alone: bool = False
    named: bool = True

    @property
    def item(self) -> str:
        """The document that it is, or that it opens."""
        return f"{'topic' if self.kind == 'message' else 'kernel'}/{_FIRST_ID + self.id}"

    @property
    def mark(self) -> str:
        """What it wants repeated."""
        return f"CANARY-H{self.id:02d}"

    @property
    def obeyed(self) -> str:
        """The Python that obeys it; empty: it orders none."""
        return self.does or (self.text if self.kind == "kernel" and not self.changes else "")


@dataclass(frozen=True)
class Surroundings:
    """What lies around a run to be found."""

    outside: Path
    """A folder with secrets, beside the run's."""
    door: str
    """Host and port of a socket that nobody must come to."""

    def fill(self, text: str) -> str:
        """Put in what a post cannot know."""
        places = {"{outside}": str(self.outside), "{door}": self.door, "{slashed}": self.door.replace(":", "/")}
        for name, value in (*places.items(), ("{numbers}", "0123456789 " * 9_000), ("{brackets}", "[" * 20_000)):
            text = text.replace(name, value)
        return text


def hostile_posts(around: Surroundings) -> list[HostilePost]:
    """Return all of them."""
    rows = [HostilePost.model_validate_json(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
    return [row.model_copy(update={"text": around.fill(row.text), "does": around.fill(row.does)}) for row in rows]


def write_hostile(folder: Path, posts: list[HostilePost]) -> Path:
    """Write the tiny snapshot with these posts beside its own, each message in a topic of its own.

    Each begins with figures of its own, without which it would not be worth reading.
    """
    write_tiny(folder)
    community = folder / "community"
    files = {name: community / f"{name}.jsonl" for name in ("topics", "messages", "kernels", "observations")}
    like = {name: json.loads(file.read_text(encoding="utf-8").splitlines()[0]) for name, file in files.items()}
    lines: dict[str, list[str]] = {name: [] for name in files}
    for post in posts:
        number = _FIRST_ID + post.id
        figures = "# Scores by seed: " + " ".join(f"0.{4000 + 50 * post.id + seed}" for seed in range(24))
        text = f"{figures}\n{post.text}"
        if post.kind == "message":
            lines["topics"].append(json.dumps(like["topics"] | {"id": number, "title": post.title}))
            message = {"id": number, "topic_id": number, "markdown": text}
            lines["messages"].append(json.dumps(like["messages"] | message))
            continue
        suffix, language, kind = _SUFFIX[post.language]
        path = f"kernels/{number}.{suffix}"
        (community / path).write_text(text, encoding="utf-8")
        # Those that need a script of their own are read first.
        seen = {"target": "kernel", "id": number, "votes": 90 if post.alone or post.changes else 1}
        lines["observations"].append(json.dumps(like["observations"] | seen))
        row = {
            "id": number,
            "ref": f"eve/{number}",
            "title": post.title,
            "language": language,
            "kind": kind,
            "path": path,
        }
        lines["kernels"].append(json.dumps(like["kernels"] | row | {"public_score": 0.2 + post.id / 1000}))
    for name, more in lines.items():
        with files[name].open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in more)
    return folder
