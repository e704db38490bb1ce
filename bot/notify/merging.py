"""Several notices as one: nothing is left out but the ends of long bodies."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from bot.notify import Notice, Plot
from bot.notify.wording import cut, escaped
from state.tables import Notification
from state.words import iso

__all__ = ["MOST_PLOTS", "together"]

MOST_PLOTS = 4
"""Pictures in one letter."""
_BODY = 600
"""Characters of one notice's body among others."""


def together(rows: Sequence[Notification]) -> Notice:
    """Return one notice that tells several, in the order given; its key is theirs, so that equal ones have equal keys."""
    if len(rows) == 1:
        row = rows[0]
        return Notice(row.key, row.kind, row.title, row.body, row.run_id, row.markdown, row.urgent, _plots(rows))
    kinds = Counter(row.kind for row in rows)
    of = ", ".join(f"{kind} ×{count}" if count > 1 else kind for kind, count in sorted(kinds.items()))
    digest = hashlib.sha256("\n".join(row.key for row in rows).encode()).hexdigest()[:16]
    return Notice(
        key=f"together/{digest}",
        kind="together",
        title=f"{len(rows)} notices: {of}"[:200],
        body="\n\n".join(f"{_time(row)} {row.title}\n{cut(row.body, _BODY)}".rstrip() for row in rows),
        markdown="\n\n".join(f"{_time(row)} **{escaped(row.title)}**\n{_short(row)}".rstrip() for row in rows),
        urgent=any(row.urgent for row in rows),
        plots=_plots(rows),
    )


def _plots(rows: Sequence[Notification]) -> tuple[Plot, ...]:
    return tuple(Plot.from_json(plot) for row in rows for plot in row.plots)[:MOST_PLOTS]


def _short(row: Notification) -> str:
    # Cut off, Markdown may lack its closing half; the plain form lacks nothing.
    return row.markdown if row.markdown and len(row.markdown) <= _BODY else escaped(cut(row.body, _BODY))


def _time(row: Notification) -> str:
    return iso(row.created_at)[:16].replace("T", " ")
