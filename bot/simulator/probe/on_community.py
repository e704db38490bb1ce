"""Points on a competition's forum and kernels, and on the search."""

from collections.abc import Sequence
from itertools import pairwise

from bot.simulator.probe.points import Point, ProbeAnswers, ProbeFinding, finding, unsure
from scrapers.kaggle.competitions import KaggleCompetition
from scrapers.kaggle.forum import ForumMessage, OneTopic, TopicMessages, TopicPage
from scrapers.kaggle.kernels import KernelPage
from scrapers.kaggle.search import SearchPage, SearchResult, facts_on

_TOPICS_A_PAGE = 20
_KERNELS_A_PAGE = 100
_DEEPEST = 4


def _topic_page(answers: ProbeAnswers) -> ProbeFinding:
    page = answers.read("topics", TopicPage)
    rows, total = len(page.topics), page.total_count
    return finding(rows == min(_TOPICS_A_PAGE, total), f"{rows} topics on the first page, {total} in total")


def _topic_order(answers: ProbeAnswers) -> ProbeFinding:
    topics = answers.read("topics", TopicPage).topics
    times = [t.last_comment_post_date for t in topics if not t.is_sticky and t.last_comment_post_date]
    if len(times) < 3:
        return unsure(f"only {len(times)} non-sticky topics")
    rising = sum(a < b for a, b in pairwise(times))
    return finding(not rising, f"{len(times)} topics, {rising} out of order (by latest comment)")


def _sticky(answers: ProbeAnswers) -> ProbeFinding:
    flags = [t.is_sticky for t in answers.read("topics", TopicPage).topics]
    if True not in flags or False not in flags:
        return unsure("either all topics are sticky or none are")
    return finding(flags == sorted(flags, reverse=True), f"{sum(flags)} sticky of {len(flags)} topics")


def _opening(answers: ProbeAnswers) -> ProbeFinding:
    messages, topic = answers.read("messages", TopicMessages), answers.read("topic", OneTopic)
    opening_time = topic.topic.post_date if topic.topic else None
    if opening_time is None or not messages.messages:
        return unsure("the topic has no date or no messages")
    included = any(abs((m.post_date - opening_time).total_seconds()) < 1 for m in messages.messages if m.post_date)
    absence = "the opening message is not included (the bot reads it with GetTopic)"
    return finding(included, "the opening message is included" if included else absence)


def _depth(messages: Sequence[ForumMessage]) -> int:
    return 1 + max(map(_depth, (m.replies for m in messages)), default=0) if messages else 0


def _replies(answers: ProbeAnswers) -> ProbeFinding:
    depth = _depth(answers.read("messages", TopicMessages).messages)
    return unsure("no message has a reply") if depth < 2 else finding(depth <= _DEEPEST, f"{depth} levels")


def _all_messages(answers: ProbeAnswers) -> list[ForumMessage]:
    return [message for message, _ in answers.read("messages", TopicMessages).flat()]


def _deleted(answers: ProbeAnswers) -> ProbeFinding:
    deleted = [m for m in _all_messages(answers) if m.is_deleted]
    if not deleted:
        return unsure("no deleted messages found")
    empty = sum(not m.content and not m.author_name for m in deleted)
    return finding(empty == len(deleted), f"{empty} of {len(deleted)} deleted messages have neither author nor text")


def _texts(answers: ProbeAnswers) -> ProbeFinding:
    present = [m for m in _all_messages(answers) if not m.is_deleted]
    if not present:
        return unsure("no messages")
    html, markdown = sum(bool(m.content) for m in present), sum(bool(m.raw_markdown) for m in present)
    text = f"of {len(present)} messages, {html} have HTML and {markdown} have rawMarkdown"
    return finding(all(m.content or m.raw_markdown for m in present), text)


def _get_topic(answers: ProbeAnswers) -> ProbeFinding:
    exchange = answers.exchange("topic")
    if exchange is not None and exchange.status is not None and not exchange.answered:
        return finding(False, f"refused with status {exchange.status}")
    answer = answers.read("topic", OneTopic)
    has_text = answer.topic is not None and bool(answer.topic.content)
    return finding(has_text, "the answer has the opening message" if has_text else "the answer has no text")


def _kernel_page(answers: ProbeAnswers) -> ProbeFinding:
    page, competition = answers.read("kernels", KernelPage), answers.exchange("competition")
    rows = len(page.kernels)
    total = competition.answer.get("kernelCount", 0) if competition and isinstance(competition.answer, dict) else 0
    token = "a" if page.next_page_token else "no"
    text = f"{rows} kernels on the first page, {total} in total, {token} next-page token"
    return unsure(text) if rows < _KERNELS_A_PAGE and total <= rows else finding(rows == _KERNELS_A_PAGE, text)


def _kernel_order(answers: ProbeAnswers) -> ProbeFinding:
    kernels = answers.read("kernels", KernelPage).kernels
    times = [k.last_run_time for k in kernels if k.last_run_time is not None]
    if len(times) < 3:
        return unsure(f"only {len(times)} kernels have a last run time")
    rising = sum(a < b for a, b in pairwise(times))
    return finding(not rising, f"{len(times)} kernels, {rising} out of order (by last run)")


def _version_numbers(answers: ProbeAnswers) -> ProbeFinding:
    kernels = answers.read("kernels", KernelPage).kernels
    if not kernels:
        return unsure("no kernels")
    count = sum(k.current_version_number is not None for k in kernels)
    return finding(count == len(kernels), f"{count} of {len(kernels)} kernels have a version number")


def _documents(answers: ProbeAnswers) -> list[SearchResult]:
    return [d for d in answers.read("search-kernels", SearchPage).documents if d.document_type == "KERNEL"]


def _search_finds(answers: ProbeAnswers) -> ProbeFinding:
    kernels, documents = answers.read("kernels", KernelPage).kernels, _documents(answers)
    if not kernels:
        return unsure("no kernels")
    in_both = {item.id for item in kernels} & {item.id for item in documents}
    return finding(
        bool(in_both), f"{len(in_both)} of {len(kernels)} listed kernels are among the {len(documents)} search results"
    )


def _scores(answers: ProbeAnswers) -> ProbeFinding:
    facts = [d.kernel_document for d in _documents(answers) if d.kernel_document]
    linked = [f for f in facts if f.has_linked_submission]
    if not linked or len(linked) == len(facts):
        return unsure(f"{len(linked)} of {len(facts)} kernels have a linked submission")
    stray = sum(bool(f.best_public_score) for f in facts if not f.has_linked_submission)
    count = sum(k.best_public_score is not None for k in linked)
    text = f"{count} of {len(linked)} kernels with a linked submission have a score, as do {stray} without one"
    return finding(count > 0 and stray == 0, text)


def _tiers(answers: ProbeAnswers) -> ProbeFinding:
    owners = [d.owner_user for d in _documents(answers) if d.owner_user and d.owner_user.tier]
    if not owners:
        return unsure("no search result gives its author's tier")
    unknown = sorted({o.tier for o in owners if o.tier_name is None})
    text = f"unknown tiers: {', '.join(unknown)}" if unknown else "all tiers known"
    return finding(not unknown, f"{len(owners)} authors, {text}")


def _needs_key(answers: ProbeAnswers) -> ProbeFinding:
    status = answers.status("search-without-key")
    return finding(status >= 400, f"status {status} without a key")


def _environment(answers: ProbeAnswers) -> ProbeFinding:
    competition = answers.read("competition", KaggleCompetition)
    exchange = answers.exchange("search-without-key")
    name = "search-without-key" if exchange is not None and exchange.answered else "search-competition"
    page = answers.read(name, SearchPage)
    facts = facts_on(page, competition.slug)
    if facts is None:
        return finding(False, "a search for the competition's title does not find it")
    agrees = facts.only_allow_kernel_submissions == competition.is_kernels_submissions_only
    text = f"isEnvironmentEvaluation is {str(facts.is_environment_evaluation).lower()}"
    return finding(agrees, f"{text}; the notebooks-only flags {'agree' if agrees else 'disagree'}")


POINTS = (
    Point("topic-page", "The forum lists 20 topics per page and gives their total number.", _topic_page),
    Point("topic-order", "RECENT sorts topics by their latest comment.", _topic_order),
    Point("sticky", "Sticky topics come first in every sort order.", _sticky),
    Point("opening-post", "A topic's messages include its opening message.", _opening),
    Point("replies", f"Replies are nested at most {_DEEPEST} levels deep.", _replies),
    Point("deleted", "A deleted message has no author and no text.", _deleted),
    Point("texts", "All messages that are not deleted have HTML or rawMarkdown.", _texts),
    Point("get-topic", "GetTopic returns the opening message of a competition's topic.", _get_topic),
    Point("kernel-page", f"Kernels are listed {_KERNELS_A_PAGE} per page.", _kernel_page),
    Point("kernel-order", "DATE_RUN sorts kernels by their last run.", _kernel_order),
    Point("version-number", "Each listed kernel has its current version number.", _version_numbers),
    Point("search-finds", "A search for the competition's title finds its kernels.", _search_finds),
    Point("best-score", "A kernel has a best public score only if it has a linked submission.", _scores),
    Point("tiers", "The bot knows all author tiers.", _tiers),
    Point("search-key", "The search requires a key.", _needs_key),
    Point("environment", "The search shows whether a competition is a simulation.", _environment),
)
