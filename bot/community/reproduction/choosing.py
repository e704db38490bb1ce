"""Choice of the public kernels to run: the strongest, and of these the most different."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from state.community import Post, Repeat

_VOTES = 0.3
"""Weight of a kernel's place by votes beside that by score."""
_LIKENESS = 0.5
"""Penalty of a kernel that calls the same functions as one that was tried; worth is from 0 to 1."""
_CALLED = re.compile(r"\b([A-Za-z_]\w{2,})\(|^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE)


def in_order(
    kernels: Sequence[Post],
    tried_items: Collection[str],
    oriented: Callable[[float], float],
    repeats: Mapping[str, Repeat],
) -> Iterator[Post]:
    """Yield the kernels that were not tried, the most promising first; each one counts as tried for the next.

    Near-copies are left out once another of the same text was tried.
    """
    by_item = {post.item: post for post in kernels}
    scores = _places({p.item: oriented(p.public_score) for p in kernels if p.public_score is not None})
    votes = _places({p.item: float(p.votes) for p in kernels if p.votes is not None})
    worth = {item: (1 - _VOTES) * scores.get(item, 0.0) + _VOTES * votes.get(item, 0.0) for item in by_item}
    called = {
        item: frozenset(name for pair in _CALLED.findall(post.text) for name in pair if name)
        for item, post in by_item.items()
    }
    texts = {_original(item, repeats) for item in tried_items}
    untried, likeness = {item for item in by_item if item not in tried_items}, dict.fromkeys(by_item, 0.0)
    latest = [item for item in tried_items if item in called]
    while untried:
        for item in untried:
            for tried_item in latest:
                union = called[item] | called[tried_item]
                overlap = len(called[item] & called[tried_item]) / len(union) if union else 0.0
                likeness[item] = max(likeness[item], overlap)
        best_item = max(untried, key=lambda item: (worth[item] - _LIKENESS * likeness[item], by_item[item].time, item))
        untried.discard(best_item)
        latest = []
        if _original(best_item, repeats) not in texts:
            texts.add(_original(best_item, repeats))
            latest = [best_item]
            yield by_item[best_item]


def _places(values: Mapping[str, float]) -> dict[str, float]:
    """Return each item's place from 0 to 1, that of the highest value; equal values share one."""
    sorted_values = sorted(set(values.values()))
    return {item: (sorted_values.index(value) + 1) / len(sorted_values) for item, value in values.items()}


def _original(item: str, repeats: Mapping[str, Repeat]) -> str:
    while item in repeats:
        item = repeats[item].original
    return item
