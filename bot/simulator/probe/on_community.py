"""Points on a competition's forum and kernels, and on the search."""

from collections.abc import Sequence
from itertools import pairwise

from bot.simulator.probe.points import Finding, Point, Seen, told, unsure
from scrapers.kaggle.competitions import Competition
from scrapers.kaggle.forum import ForumMessage, OneTopic, TopicMessages, TopicPage
from scrapers.kaggle.kernels import KernelPage
from scrapers.kaggle.search import Found, SearchPage, facts_on

_TOPICS_A_PAGE = 20
_KERNELS_A_PAGE = 100
_DEEPEST = 4


def _topic_page(seen: Seen) -> Finding:
    found = seen.read("topics", TopicPage)
    rows, total = len(found.topics), found.total_count
    return told(rows == min(_TOPICS_A_PAGE, total), f"{rows} topics on the first page, {total} in all")


def _topic_order(seen: Seen) -> Finding:
    found = seen.read("topics", TopicPage).topics
    times = [one.last_comment_post_date for one in found if not one.is_sticky and one.last_comment_post_date]
    if len(times) < 3:
        return unsure(f"only {len(times)} topics that are not sticky")
    rising = sum(a < b for a, b in pairwise(times))
    return told(not rising, f"{len(times)} topics, {rising} of them out of the order of their last comment")


def _sticky(seen: Seen) -> Finding:
    flags = [one.is_sticky for one in seen.read("topics", TopicPage).topics]
    if True not in flags or False not in flags:
        return unsure("no topic is sticky, or all are")
    return told(flags == sorted(flags, reverse=True), f"{sum(flags)} sticky of {len(flags)} topics")


def _opening(seen: Seen) -> Finding:
    found, topic = seen.read("messages", TopicMessages), seen.read("topic", OneTopic)
    opened = topic.topic.post_date if topic.topic else None
    if opened is None or not found.messages:
        return unsure("the topic has no time, or no messages")
    included = any(abs((one.post_date - opened).total_seconds()) < 1 for one in found.messages if one.post_date)
    return told(included, "it is among them" if included else "it is not among them (it is read by GetTopic then)")


def _depth(messages: Sequence[ForumMessage]) -> int:
    return 1 + max(map(_depth, (one.replies for one in messages)), default=0) if messages else 0


def _replies(seen: Seen) -> Finding:
    depth = _depth(seen.read("messages", TopicMessages).messages)
    return unsure("no message has a reply") if depth < 2 else told(depth <= _DEEPEST, f"{depth} levels")


def _all_messages(seen: Seen) -> list[ForumMessage]:
    return [message for message, _ in seen.read("messages", TopicMessages).flat()]


def _deleted(seen: Seen) -> Finding:
    deleted = [one for one in _all_messages(seen) if one.is_deleted]
    if not deleted:
        return unsure("no message that was read is deleted")
    empty = sum(not one.content and not one.author_name for one in deleted)
    return told(empty == len(deleted), f"{empty} of {len(deleted)} deleted messages have neither")


def _texts(seen: Seen) -> Finding:
    there = [one for one in _all_messages(seen) if not one.is_deleted]
    if not there:
        return unsure("there is no message")
    html, markdown = sum(bool(one.content) for one in there), sum(bool(one.raw_markdown) for one in there)
    saw = f"of {len(there)} messages {html} have HTML, {markdown} rawMarkdown"
    return told(all(one.content or one.raw_markdown for one in there), saw)


def _get_topic(seen: Seen) -> Finding:
    asked = seen.exchange("topic")
    if asked is not None and asked.status is not None and not asked.answered:
        return told(False, f"it was refused with {asked.status}")
    found = seen.read("topic", OneTopic)
    has_text = found.topic is not None and bool(found.topic.content)
    return told(has_text, "it has the opening message" if has_text else "it has no text")


def _kernel_page(seen: Seen) -> Finding:
    found, competition = seen.read("kernels", KernelPage), seen.exchange("competition")
    rows = len(found.kernels)
    total = competition.answer.get("kernelCount", 0) if competition and isinstance(competition.answer, dict) else 0
    token = "a" if found.next_page_token else "no"
    saw = f"{rows} kernels on the first page, {total} in all, {token} token for the next"
    return unsure(saw) if rows < _KERNELS_A_PAGE and total <= rows else told(rows == _KERNELS_A_PAGE, saw)


def _kernel_order(seen: Seen) -> Finding:
    found = seen.read("kernels", KernelPage).kernels
    times = [one.last_run_time for one in found if one.last_run_time is not None]
    if len(times) < 3:
        return unsure(f"only {len(times)} kernels with a time")
    rising = sum(a < b for a, b in pairwise(times))
    return told(not rising, f"{len(times)} kernels, {rising} of them out of the order of their last run")


def _version_numbers(seen: Seen) -> Finding:
    found = seen.read("kernels", KernelPage).kernels
    if not found:
        return unsure("there is no kernel")
    numbered = sum(one.current_version_number is not None for one in found)
    return told(numbered == len(found), f"{numbered} of {len(found)} kernels have their version's number")


def _documents(seen: Seen) -> list[Found]:
    return [one for one in seen.read("search-kernels", SearchPage).documents if one.document_type == "KERNEL"]


def _found(seen: Seen) -> Finding:
    kernels, documents = seen.read("kernels", KernelPage).kernels, _documents(seen)
    if not kernels:
        return unsure("there is no kernel")
    both = {one.id for one in kernels} & {one.id for one in documents}
    return told(bool(both), f"{len(both)} of the {len(kernels)} kernels listed are among {len(documents)} found")


def _scores(seen: Seen) -> Finding:
    facts = [one.kernel_document for one in _documents(seen) if one.kernel_document]
    linked = [one for one in facts if one.has_linked_submission]
    if not linked or len(linked) == len(facts):
        return unsure(f"of {len(facts)} kernels {len(linked)} have a linked submission")
    stray = sum(bool(one.best_public_score) for one in facts if not one.has_linked_submission)
    scored = sum(one.best_public_score is not None for one in linked)
    saw = f"{scored} of {len(linked)} with a submission have a score, and {stray} without one"
    return told(scored > 0 and stray == 0, saw)


def _tiers(seen: Seen) -> Finding:
    owners = [one.owner_user for one in _documents(seen) if one.owner_user and one.owner_user.tier]
    if not owners:
        return unsure("no document names its author's tier")
    unknown = sorted({one.tier for one in owners if one.tier_name is None})
    return told(
        not unknown, f"{len(owners)} tiers" + (f", unknown: {', '.join(unknown)}" if unknown else ", all known")
    )


def _needs_key(seen: Seen) -> Finding:
    asked = seen.exchange("search-without-key")
    if asked is None or asked.status is None or asked.status >= 500 or asked.status == 429:
        return seen.why_not("search-without-key")
    return told(not asked.answered, f"without a key it was answered with {asked.status}")


def _environment(seen: Seen) -> Finding:
    competition = seen.read("competition", Competition)
    asked = seen.exchange("search-without-key")
    name = "search-without-key" if asked is not None and asked.answered else "search-competition"
    found = seen.read(name, SearchPage)
    facts = facts_on(found, competition.slug)
    if facts is None:
        return told(False, "the search does not find the competition by its title")
    agrees = facts.only_allow_kernel_submissions == competition.is_kernels_submissions_only
    saw = f"isEnvironmentEvaluation is {str(facts.is_environment_evaluation).lower()}"
    return told(agrees, f"{saw}; both {'agree' if agrees else 'disagree'} on whether only notebooks are taken")


POINTS = (
    Point("topic-page", "The forum is listed in pages of 20 topics, and says how many there are.", _topic_page),
    Point("topic-order", "RECENT sorts topics by their latest comment.", _topic_order),
    Point("sticky", "Sticky topics come first, whatever the order.", _sticky),
    Point("opening-post", "A topic's messages include the one that opens it.", _opening),
    Point("replies", f"Replies nest at most {_DEEPEST} levels deep.", _replies),
    Point("deleted", "A deleted message has no author and no text.", _deleted),
    Point("texts", "Every other message has HTML or rawMarkdown.", _texts),
    Point("get-topic", "GetTopic gives the opening message of a competition's topic.", _get_topic),
    Point("kernel-page", f"Kernels are listed {_KERNELS_A_PAGE} a page.", _kernel_page),
    Point("kernel-order", "DATE_RUN sorts kernels by their last run.", _kernel_order),
    Point("version-number", "A listed kernel has the number of its current version.", _version_numbers),
    Point("search-finds", "A search for the competition's title finds its kernels.", _found),
    Point("best-score", "A kernel has a best public score only if it has a linked submission.", _scores),
    Point("tiers", "Authors' tiers are those that the bot knows.", _tiers),
    Point("search-key", "The search needs a key.", _needs_key),
    Point("environment", "The search says whether a competition is a simulation.", _environment),
)
