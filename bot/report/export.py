"""Exports of a run's database: every event, every model call with its whole prompt, and what went into what."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlmodel import col, select

from bot.community.dependencies.graph import Graph
from state.errors import UsageError
from state.store import Store
from state.tables import ModelCall
from state.words import iso

_GRAPH = TypeAdapter(Graph)


def export_events(store: Store, run_id: str, path: Path) -> None:
    """Write events.jsonl: one object a line, ids without gaps."""
    _write_lines(path, store.export_events(run_id))


def export_prompts(store: Store, run_id: str, path: Path) -> None:
    """Write prompts.jsonl: one model call a line, messages and answer in full."""
    _write_lines(path, calls(store, run_id))


def export_graph(graph: Graph, path: Path) -> None:
    """Write graph.json: the fields of `Graph`, times in ISO 8601."""
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(_GRAPH.dump_json(graph, indent=1) + b"\n")
    partial.replace(path)


def read_graph(path: Path) -> Graph:
    """Read graph.json.

    Raises:
        UsageError: it is missing, or not what a finished run writes.
    """
    try:
        return _GRAPH.validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


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


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    partial = path.with_name(path.name + ".partial")
    with partial.open("w", encoding="utf-8", errors="replace") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    partial.replace(path)
