"""The part of a conversation that the endpoint has probably cached, by the last call's usage."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import takewhile

from sqlmodel import col, select

from bot.models import Message
from state.store import Store
from state.tables import ModelCall


def cached_messages(
    store: Store, run_id: str, *, role: str, prompt_name: str, node: int | None, messages: Sequence[Message]
) -> int:
    """Return how many leading messages the last call of the same kind had too; 0 if nothing of that one was cached.

    If the endpoint has dropped them from its cache since, it counts them again; that cannot be foreseen.
    """
    with store.read() as session:
        last = session.exec(
            select(ModelCall)
            .where(ModelCall.run_id == run_id, ModelCall.role == role, ModelCall.prompt_name == prompt_name)
            .where(ModelCall.node == node, ModelCall.completion_tokens > 0)
            .order_by(col(ModelCall.seq).desc())
        ).first()
    if last is None or not last.cached_tokens:
        return 0
    before = json.loads(store.blob(last.messages_sha))
    pairs = zip(before, map(asdict, messages), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
