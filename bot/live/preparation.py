"""Preparing: whether a competition can be worked on, and if not, what a person has to do."""

import shutil
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bot.configuration.competition import CompetitionSettings
from bot.execution.own_grader import check_grader
from bot.live.kinds import IF_WRONG, kinds_of
from bot.live.reading.card import Question, settle
from bot.live.reading.rules import ask_rules
from bot.live.services import Shared
from bot.notify import Notice
from bot.notify.outbox import notify
from bot.status.problems import begin, end
from scrapers.kaggle.card.task import read_evidence, with_data
from scrapers.kaggle.competitions import Competitions, KaggleCompetition
from scrapers.kaggle.data import CompetitionData, DownloadProgress
from scrapers.snapshots.card import TaskCard
from state.errors import UsageError
from state.live import deadline_of as known_deadline
from state.series import rules_hash


@dataclass(frozen=True)
class PreparedTask:
    """The competition's task card, and the folder with its files."""

    card: TaskCard
    data: Path


@dataclass(frozen=True)
class PreparationBlocker:
    """Why a competition cannot be worked on yet, in a sentence that states what to do."""

    reason: str
    lines: tuple[str, ...] = ()
    """Lines to add to bot.toml."""


async def prepare(shared: Shared, slug: str, settings: CompetitionSettings) -> PreparedTask | PreparationBlocker:
    """Ask Kaggle for all that is needed to begin; the owner is notified once of what needs a person.

    Raises KaggleError, SiteUnavailable, DownloadFailed, UsageError: see `read_evidence`, `CompetitionData`, `open_reader`.
    """
    facts = await Competitions(shared.client).get(slug)
    if not facts.user_has_entered:
        url, sha = shared.settings.kaggle.page_of(slug, "rules"), rules_hash(shared.store, slug, shared.clock.as_of())
        notice = Notice("problem.rules", slug, {"url": url, "rules_sha": sha})
        reason = f"you have not entered {slug}: accept the rules at {url}"
        return _problem(shared, f"rules/{slug}", PreparationBlocker(reason), notice)
    _over(shared, f"rules/{slug}")
    data = CompetitionData(
        shared.client,
        slug,
        shared.competition(slug),
        settings.sample_submission,
        progress=_ProgressLog(shared, slug),
        warn=lambda sentence: shared.say(slug, sentence),
    )
    if blocked := await _of_a_kind(shared, facts, settings, data):
        return blocked
    evidence = await read_evidence(Competitions(shared.client), slug)
    await ask_rules(shared, settings, evidence, shared.settings.kaggle.page_of(slug, "rules"))
    folder = await data.fetch()
    card = await settle(shared, settings, await with_data(evidence, folder))
    if isinstance(card, Question):
        return _problem(shared, f"card/{slug}", *_blocker_for(shared, slug, card))
    _over(shared, f"card/{slug}")
    if settings.grader is not None:
        try:
            check_grader(settings.grader)
        except UsageError as error:
            unusable = Notice("problem.grader", slug, {"why": str(error)})
            return _problem(shared, f"grader/{slug}", PreparationBlocker(f"cannot compute scores: {error}"), unusable)
    return PreparedTask(card, folder)


def _blocker_for(shared: Shared, slug: str, question: Question) -> tuple[PreparationBlocker, Notice]:
    proposal, command = question.proposal, f"bot approve {slug} --card"
    lines = proposal.lines or tuple(missing.line for missing in question.derived.missing)
    facts = {
        "file": str(shared.file or "bot.toml"),
        "lines": lines,
        "note": question.note,
        "by": proposal.reader,
        "quotes": proposal.quotes,
        "command": command if proposal.values else "",
        "choices": list(proposal.choices),
    }
    notice = Notice("problem.card", slug, facts)
    if not proposal.values:
        reason = "; ".join((*map(str, question.derived.missing), *filter(None, [question.note])))
        return PreparationBlocker(reason, lines), notice
    source = f"{proposal.source}; doubts: {question.note}" if question.note else proposal.source
    reason = f"{slug}: confirm {', '.join(lines)} ({source}) with `{command}`, or write the correct values to bot.toml"
    reason += f"; read {shared.settings.kaggle.page_of(slug, 'overview/evaluation')} first"
    return PreparationBlocker(reason, lines), notice


async def _of_a_kind(
    shared: Shared, facts: KaggleCompetition, settings: CompetitionSettings, data: CompetitionData
) -> PreparationBlocker | None:
    """Notify the owner once of each kind that the competition is of; return why nothing can be done where that is so."""
    slug = data.slug
    free = None if data.is_begun else shutil.disk_usage(shared.folder).free
    kinds = await kinds_of(shared.client, facts, free)
    blocked = None
    for kind in kinds:
        facts_of_kind = {
            "name": kind.name,
            "sentence": kind.sentence,
            "source": kind.source,
            "worked_on": kind.worked_on,
        }
        notice = Notice("competition.kind", slug, facts_of_kind)
        if kind.worked_on or settings.kind == "csv" or blocked is not None:
            with shared.store.write() as tx:
                notify(tx, notice)
        else:
            reason = f"{slug} {kind}; {IF_WRONG.format(slug=slug)}"
            blocked = _problem(shared, f"kind/{slug}", PreparationBlocker(reason), notice)
    if blocked is None:
        _over(shared, f"kind/{slug}")
    return blocked


class _ProgressLog:
    def __init__(self, shared: Shared, slug: str) -> None:
        self._shared, self._slug = shared, slug
        self._last: tuple[str, int] | None = None

    def __call__(self, progress: DownloadProgress) -> None:
        """Log new progress; may be called from any thread."""
        tenth = 10 * progress.bytes // progress.total if progress.total else progress.bytes // 100_000_000
        if (progress.activity, tenth) != self._last:
            self._last = (progress.activity, tenth)
            self._shared.say(self._slug, str(progress).removeprefix(f"{self._slug}: "))


def deadline_of(shared: Shared, card: TaskCard, settings: CompetitionSettings) -> datetime:
    """Return the deadline as known now: the owner's setting, else Kaggle's latest, else the card's."""
    with shared.store.read() as session:
        return known_deadline(session, card.slug, configured=settings.deadline, card=card.deadline) or card.deadline


def _problem(shared: Shared, key: str, blocked: PreparationBlocker, notice: Notice) -> PreparationBlocker:
    with shared.store.write() as tx:
        begin(tx, key, blocked.reason, notice, asks=True)
    return blocked


def _over(shared: Shared, key: str) -> None:
    with shared.store.write() as tx:
        end(tx, key)
