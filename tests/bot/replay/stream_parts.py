"""What the tests of a moving clock share: a competition with posts in its middle, and a model that makes an idea of each."""

import json
import re
from pathlib import Path
from typing import Any

from tests.bot.replay.scripted_answers import Answers, planned, read_in, script
from tests.scripted_endpoint import Reply, Request
from tests.tiny_snapshot import write_tiny

MIDDLE_WORDS = "counting how often the second column repeats within groups of five rows gave a clear and stable gain"
STEPS = 5
"""Nodes, with which the clock is at `STOOD_AT` before the second, the third and the fourth of them."""
STOOD_AT = ("2020-01-25T00:00:00Z", "2020-02-18T00:00:00Z", "2020-03-01T00:00:00Z")
POSTS = {"message/15": "2020-02-10T00:00:00Z", "message/16": "2020-02-25T00:00:00Z"}
"""Those that are posted between these, each in a topic of its own."""
TOPICS = {item.replace("message", "topic"): posted for item, posted in POSTS.items()}


def write_streamed(folder: Path) -> Path:
    """Write the tiny snapshot with more messages, and a reading of votes in the middle of it."""
    write_tiny(folder)
    messages = folder / "community/messages.jsonl"
    template = json.loads(messages.read_text().splitlines()[0])
    topics = folder / "community/topics.jsonl"
    thread = json.loads(topics.read_text().splitlines()[0])
    more = [
        ("message/15", MIDDLE_WORDS),
        ("message/16", "Rank averaging of the last three models is what remains untried here."),
    ]
    for item, text in more:
        id, posted = int(item.split("/")[1]), POSTS[item]
        _append(topics, thread | {"id": id, "posted_at": posted})
        _append(messages, template | {"id": id, "topic_id": id, "posted_at": posted, "markdown": text})
    readings = folder / "community/observations.jsonl"
    reading = json.loads(readings.read_text().splitlines()[0]) | {
        "target": "topic",
        "id": 15,
        "at": "2020-02-15T00:00:00Z",
        "votes": 77,
    }
    _append(readings, reading)
    _append(readings, reading | {"at": "2020-02-25T00:00:00Z", "votes": 88})
    return folder


def _append(path: Path, row: dict[str, Any]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


class StreamAnswers(Answers):
    """Makes an idea of each post and a draft of all ideas; equal questions get equal answers, however often they are asked."""

    def __call__(self, request: Request) -> Reply | str:
        """Answer one request."""
        system, user = (str(m["content"]) for m in request.body["messages"][:2])
        if "You keep the idea pool" in system:
            posts = re.findall(r"^- `((?:topic|kernel)/\d+)`", user, re.MULTILINE)
            return json.dumps({"add": [{"text": f"what {post} says", "sources": [post]} for post in posts]})
        if "You coordinate a team" in system:
            ideas = [int(number) for number in re.findall(r"^- idea (\d+) ", user, re.MULTILINE)]
            drafts = [_draft(user, ideas, place) for place in range(planned(user))]
            return json.dumps({"drafts": drafts})
        if "You read what a Kaggle community posts" in system:
            return json.dumps({"documents": [_found(item, MIDDLE_WORDS in user) for item in read_in(user)]})
        found = re.search(r"logistic regression number (\d+)", user)
        if found and "```python" in system:
            return Reply(script(1.0 + int(found[1])), prompt_tokens=500, completion_tokens=300)
        return super().__call__(request)


def _found(item: str, strong: bool) -> dict[str, Any]:
    scores = dict.fromkeys(("novelty", "feasibility", "efficiency"), 6) | {"effectiveness": 9 if strong else 5}
    return {"id": item, "summary": "a way to do it", "suggestions": ["do it"], **scores}


def _draft(user: str, ideas: list[int], place: int) -> dict[str, Any]:
    reports = re.findall(r"^- report .* of node (\d+)\.", user, re.MULTILINE)
    place += len(re.findall(r"; (?:extends node \d+|new)\)$", user, re.MULTILINE))
    number = 10 * len(ideas) + place
    base = int(reports[0]) if place == 0 and reports else None
    words = f"logistic regression number {number} on a and b"
    return {"title": f"Draft {number}", "description": words, "ideas": [] if place else ideas, "codebase": base}


def moves_of(run: Path | str) -> list[tuple[str, int]]:
    """Return from a run's exported events where the clock went, and before which node."""
    return [(event["as_of"], event["before"]) for event in exported(run, "events") if event["type"] == "clock.moved"]


def exported(run: Path | str, name: str) -> list[dict[str, Any]]:
    """Return the lines of `events` or `prompts`."""
    return [json.loads(line) for line in (Path(run) / f"{name}.jsonl").read_text().splitlines()]
