"""Spending: the ledger's entries, and the log of model calls."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func
from sqlmodel import col, select

from state.store import Store, Transaction
from state.tables import LedgerEntry, ModelCall


@dataclass(frozen=True)
class Spending:
    """Totals of the ledger; `unpriced` counts entries whose tokens have no known price.

    `amount` is the total of the kind's own unit: see `LedgerEntry`.
    """

    entries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    unpriced: int = 0
    amount: float = 0.0
    cached_tokens: int = 0
    """Those of the prompts that were cached."""

    @property
    def new_tokens(self) -> int:
        """Tokens that were sent and not cached, and those that were received."""
        return self.prompt_tokens - self.cached_tokens + self.completion_tokens


def charge(
    tx: Transaction,
    run_id: str,
    kind: str,
    *,
    node: int | None = None,
    role: str | None = None,
    model: str | None = None,
    prompt_tokens: int = 0,
    cached_tokens: int = 0,
    completion_tokens: int = 0,
    cost_usd: float | None = None,
    seconds: float | None = None,
    amount: float | None = None,
) -> LedgerEntry:
    """Add one item of spending, with its event; `cost_usd` None means unknown or no price.

    `LedgerEntry` lists the kinds and the meaning of `amount` for each.
    """
    tokens = {"prompt_tokens": prompt_tokens, "cached_tokens": cached_tokens, "completion_tokens": completion_tokens}
    amounts: dict[str, Any] = {**tokens, "cost_usd": cost_usd, "seconds": seconds, "amount": amount}
    row = LedgerEntry(run_id=run_id, at=tx.now(), kind=kind, node=node, role=role, model=model, **amounts)
    tx.add(row)
    tx.record("ledger.charged", run_id=run_id, node=node, kind=kind, role=role, model=model, **amounts)
    return row


def log_model_call(tx: Transaction, row: ModelCall) -> None:
    """Store one call under the run's next number; the ledger is charged separately."""
    last = tx.session.exec(select(func.max(ModelCall.seq)).where(ModelCall.run_id == row.run_id)).one()
    row.seq = (last or 0) + 1
    tx.add(row)
    facts = {"call": row.seq, "step": row.step, "role": row.role, "prompt": row.prompt_name, "model": row.model}
    tokens = {name: getattr(row, name) for name in ("prompt_tokens", "cached_tokens", "completion_tokens")}
    tx.record("model.called", run_id=row.run_id, node=row.node, **facts, **tokens, cost_usd=row.cost_usd)


def add_up(total: Spending, entry: Mapping[str, Any]) -> Spending:
    """Return the total with one more entry, given by the fields of a `ledger.charged` event; a model call has no amount."""
    tokens = entry["prompt_tokens"] + entry["completion_tokens"]
    return Spending(
        entries=total.entries + 1,
        prompt_tokens=total.prompt_tokens + entry["prompt_tokens"],
        cached_tokens=total.cached_tokens + entry["cached_tokens"],
        completion_tokens=total.completion_tokens + entry["completion_tokens"],
        cost_usd=total.cost_usd + (entry["cost_usd"] or 0.0),
        seconds=total.seconds + (entry["seconds"] or 0.0),
        unpriced=total.unpriced + (tokens > 0 and entry["cost_usd"] is None),
        amount=total.amount + (entry.get("amount") or 0.0),
    )


def read_spending(store: Store, run_id: str) -> dict[str, Spending]:
    """Return a run's totals by kind of spending."""
    totals: dict[str, Spending] = {}
    with store.read() as session:
        entries = session.exec(
            select(LedgerEntry).where(LedgerEntry.run_id == run_id).order_by(col(LedgerEntry.pk))
        ).all()
    for entry in entries:
        totals[entry.kind] = add_up(totals.get(entry.kind, Spending()), entry.model_dump())
    return totals
