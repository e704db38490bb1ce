"""Documents: a topic with its messages as a tree, or a kernel version, read in one piece; the most telling come first."""

import hashlib
import heapq
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime

from bot.community.reading.code_excerpts import code_excerpt
from scrapers.posts.cleaning import LARGEST_TEXT, both_ends, without_encoded
from state.community import TEAM, CommunityView, Post

_WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W_]{3,}")
"""A word or number, and a character of scripts without spaces between words."""
_LEAST_WORDS = 6
"""Different words of a message that is shown; a reply of fewer is mostly thanks."""
_LEAST_NEW = 8
"""New words without which a document is not read."""
_HALF_NEW = 100
"""New words that make a document worth half as much as one that is all news."""
_TIERS = {"CONTRIBUTOR": 0.2, "EXPERT": 0.5, "MASTER": 0.8, "GRANDMASTER": 1.0, "STAFF": 0.8, TEAM: 1.0}


@dataclass(frozen=True)
class Document:
    """A topic with its visible messages, each after the one that it answers, or a kernel version."""

    item: str
    """`topic/ID` or `kernel/ID`."""
    created_at: datetime
    """Time of the topic or of the kernel version."""
    posts: tuple[Post, ...]
    votes: int | None
    """The topic's or the kernel's; without any, the opening message's."""

    @property
    def title(self) -> str:
        """The topic's or the kernel's."""
        return self.posts[0].title

    @property
    def time(self) -> datetime:
        """Latest time of its parts."""
        return max(self.created_at, *(post.time for post in self.posts))

    @property
    def public_score(self) -> float | None:
        """A kernel's."""
        return self.posts[0].public_score

    @property
    def digest(self) -> str:
        """Hash of the text, independent of its order by votes."""
        text = "\0".join(f"{post.item}\0{post.text}" for post in sorted(self.posts, key=lambda post: post.item))
        return hashlib.sha256(f"{self.title}\0{text}".encode(errors="surrogatepass")).hexdigest()[:16]


def documents(view: CommunityView) -> list[Document]:
    """Return all readable documents, in order of creation; replies of hardly a word are left out."""
    threads, all_documents = defaultdict[str, list[Post]](list), []
    for post in view.posts():
        if post.kind == "kernel":
            readable_post = replace(post, text=without_encoded(post.text))
            all_documents.append(Document(post.item, post.time, (readable_post,), post.votes))
        elif post.topic_id is not None and len(words_of(post)) >= _LEAST_WORDS:
            threads[post.topic_id].append(post)
    for topic in view.topics():
        if posts := tuple(_thread(threads[topic.id])):
            votes = topic.votes if topic.votes is not None else posts[0].votes
            all_documents.append(Document(topic.item, topic.time, posts, votes))
    return sorted(all_documents, key=lambda document: (document.created_at, document.item))


def _thread(messages: Sequence[Post]) -> Iterator[Post]:
    """Yield messages in order of time, each followed by its answers; those in a circle of answers are left out."""
    shown_ids = {message.id for message in messages}
    answers = defaultdict[str | None, list[Post]](list)
    for message in messages:
        answers[message.parent_id if message.parent_id in shown_ids else None].append(message)
    pending = answers[None][::-1]
    while pending:
        message = pending.pop()
        yield message
        pending += answers[message.id][::-1]


def words_of(*posts: Post) -> set[str]:
    """Return the different words and numbers of some texts."""
    return {word for post in posts for word in _WORD.findall(post.text.lower())}


def most_telling(
    unread: Sequence[Document],
    known_words: Set[str],
    *,
    lower_is_better: bool,
    fresh_since: datetime | None = None,
    longest: int = LARGEST_TEXT,
) -> Iterator[Document]:
    """Yield unread documents, the most telling first, counting those already yielded as read; never one without news.

    The worth of a document is (1 + 2·votes + tier + 3·score + 2·fresh) · new / ∜length, each but the length from 0 to 1:
    votes on a logarithmic scale, 1 for the most voted; the opening author's tier, 1 for a grandmaster; score is 1 for the
    unread kernel with the best public score, 1/2 for the second, and so on; fresh is 1 for posts since `fresh_since`, which
    have no votes yet; new is n / (n + 100), where n counts its words and numbers that were not read so far. Of two equally
    promising ones the shorter goes first, as reading is paid by length, up to `longest` characters. `known_words` were read.
    """
    scores = sorted({d.public_score for d in unread if d.public_score is not None}, reverse=not lower_is_better)
    most_votes = max((d.votes or 0 for d in unread), default=0)
    seen_words = set(known_words)

    def signals(document: Document) -> float:
        counted_votes = most_votes if document.votes is None and is_note(document) else document.votes or 0
        votes = math.log1p(max(0, counted_votes)) / math.log1p(max(1, most_votes))
        tier = _TIERS.get((document.posts[0].tier or "").upper(), 0.0)
        score = 0.0 if document.public_score is None else 1 / (1 + scores.index(document.public_score))
        fresh = fresh_since is not None and document.time > fresh_since
        length = min(longest, max(1_000, sum(len(post.text) for post in document.posts)))
        return (1 + 2 * votes + tier + 3 * score + 2 * fresh) / math.sqrt(math.sqrt(length))

    texts = [words_of(*document.posts) for document in unread]
    worth = [signals(document) for document in unread]
    # `new` only shrinks: a document that is still the first when computed again is the next; of equals the earlier.
    heap = [(-value, place) for place, value in enumerate(worth)]
    heapq.heapify(heap)
    while heap:
        _, place = heapq.heappop(heap)
        new = len(texts[place] - seen_words)
        if new < _LEAST_NEW and not is_note(unread[place]):
            continue
        value = worth[place] * (1.0 if is_note(unread[place]) else new / (new + _HALF_NEW))
        if heap and heap[0] < (-value, place):
            heapq.heappush(heap, (-value, place))
            continue
        seen_words |= texts[place]
        yield unread[place]


def is_note(document: Document) -> bool:
    """Return whether a document is one of the owner's notes."""
    return document.posts[0].tier == TEAM


def excerpt(document: Document, characters: int) -> Document:
    """Return a document with about so many characters of text at most.

    Of a topic the opening message and the most voted answers stay, in their order, and of a longer opening message its two
    ends; of a script or notebook what `code_excerpt` keeps.
    """
    first, *answers = document.posts
    if first.kind == "kernel":
        return replace(document, posts=(replace(first, text=code_excerpt(first.text, characters)),))
    opening = replace(first, text=both_ends(first.text, characters))
    remaining_characters, kept_ids = characters - len(opening.text), {first.id}
    for post in sorted(answers, key=lambda post: (-(post.votes or 0), post.time, post.id)):
        remaining_characters -= len(post.text)
        if remaining_characters < 0:
            break
        kept_ids.add(post.id)
    return replace(document, posts=(opening, *(post for post in answers if post.id in kept_ids)))
