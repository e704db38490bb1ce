"""Exports of a run's database: every event and every model call with its whole prompt."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sqlmodel import col, select

from state.files import replacing
from state.store import Store
from state.tables import ModelCall
from state.words import iso


def calls(store: Store, run_id: str) -> Iterator[dict[str, Any]]:
    """Yield a run's model calls in order, as prompts.jsonl holds them."""
    with store.read() as session:
        rows = session.exec(select(ModelCall).where(ModelCall.run_id == run_id).order_by(col(ModelCall.seq))).all()
    for row in rows:
        yield {
            "step": row.step,
            "node": row.node,
            "role": row.role,
            "prompt": row.prompt_name,
            "model": row.model,
            "at": iso(row.at),
            "as_of": iso(row.as_of),
            "items": row.items,
            "messages": json.loads(store.blob(row.messages_sha)),
            "answer": store.blob(row.answer_sha).decode("utf-8", "surrogatepass"),
            "usage": {
                "prompt_tokens": row.prompt_tokens,
                "cached_tokens": row.cached_tokens,
                "completion_tokens": row.completion_tokens,
            },
            "cost_usd": row.cost_usd,
        }


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write events.jsonl or prompts.jsonl, one object a line."""
    with replacing(path) as partial, partial.open("w", encoding="utf-8", errors="replace") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
