"""The notices to the owner: each is a frozen dataclass whose fields fill the template of its kind."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bot.budgets.kinds import Kind, words
from bot.budgets.kinds import name as kind_name
from bot.evaluation.answers.board import Medal
from bot.notify import Notice
from bot.notify.wording import FILTERS, MARKDOWN_FILTERS, escaped, plain
from state.words import iso

if TYPE_CHECKING:
    from jinja2 import Environment

_TITLE = 200
"""Characters; a subject line is short, so the rest is cut."""
_KEY_PART = 80
"""Characters; a longer value is shown in a key by its hash."""


@dataclass(frozen=True)
class Event:
    """Base of the notices.

    A subclass is a frozen dataclass that sets `kind` and `once_per`; its template is `templates/<kind>.j2`, with the blocks
    `title` and `text`. The template sees the fields by name (or what `context` returns) and the filters of
    `bot.notify.wording`. It is rendered twice, as plain text and as Markdown: what it prints is cleaned of control
    characters, and escaped in Markdown, as names and messages are foreign text.
    """

    kind: ClassVar[str]
    """Such as `leaderboard.rank`; the owner chooses by it what goes into the digest."""
    once_per: ClassVar[tuple[str, ...]]
    """Field names: notices that agree in them are one, so that nothing is sent twice after a restart."""
    urgent: ClassVar[bool] = False
    """Sent in quiet hours too."""

    @property
    def key(self) -> str:
        """The key that duplicates are found by."""
        return "/".join([self.kind, *(_key_part(getattr(self, name)) for name in self.once_per)])

    def context(self) -> dict[str, Any]:
        """Return the template's variables; by default the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def notice(self, run_id: str | None = None) -> Notice:
        """Return the notice that is sent.

        Raises:
            jinja2.TemplateError: the template is missing, or uses a name that is not in the context.
        """
        title, text = self._block("title", markdown=False), self._block("text", markdown=False)
        markdown = self._block("text", markdown=True)
        title = " ".join(title.split())[:_TITLE]
        return Notice(self.key, self.kind, title, text, run_id, markdown, self.urgent)

    def _block(self, name: str, *, markdown: bool) -> str:
        template = _environment(markdown).get_template(f"{self.kind}.j2")
        context = template.new_context(self.context())
        # Running the whole file first defines its macros.
        for _ in template.root_render_func(context):
            pass
        return "".join(template.blocks[name](context)).strip()


def _key_part(value: Any) -> str:
    text = iso(value) if isinstance(value, datetime) else str(value)
    return text if len(text) <= _KEY_PART else hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def _environment(markdown: bool) -> "Environment":
    # Imported here: a bot.toml that names kinds of notices is checked without rendering one.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # No browser reads this: whatever turns it into HTML escapes it.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - see above
        finalize=partial(_printed, escaped if markdown else plain),
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(MARKDOWN_FILTERS if markdown else FILTERS)
    return environment


def _printed(finalize: Callable[[str], str], value: Any) -> Any:
    # An undefined name is passed on, so that Jinja refuses it.
    return finalize(value) if isinstance(value, str) else value


@dataclass(frozen=True)
class RankChanged(Event):
    """The team's rank on the leaderboard has changed."""

    kind: ClassVar[str] = "leaderboard.rank"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "at")

    competition: str
    rank: int
    """From 1."""
    earlier: int | None
    """None: the team had none."""
    teams: int
    score: float | None
    at: datetime
    """The leaderboard's own time."""
    passed: int = 0
    """Teams that have passed ours since the earlier rank."""
    passed_by: tuple[str, ...] = ()
    """The names of the first of them."""
    private: bool = False
    """Whether it is the private leaderboard, which is final."""


@dataclass(frozen=True)
class MedalChanged(Event):
    """The rank is worth another medal than before; None: no medal."""

    kind: ClassVar[str] = "leaderboard.medal"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "at")

    competition: str
    medal: Medal | None
    earlier: Medal | None
    rank: int
    teams: int
    at: datetime
    """The leaderboard's own time."""
    private: bool = False
    """Whether it is the private leaderboard, which is final."""


@dataclass(frozen=True)
class BoardMoved(Event):
    """The best scores of the other teams have become much better: somebody has found something."""

    kind: ClassVar[str] = "leaderboard.top"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "at")

    competition: str
    first_before: float | None
    first: float | None
    """The best score of the others; `gold`: their last that is worth a gold medal."""
    gold_before: float | None
    gold: float | None
    score: float | None
    """Ours."""
    rank: int | None
    teams: int | None
    at: datetime
    """The leaderboard's own time."""


@dataclass(frozen=True)
class NewBest(Event):
    """A node is better, by its validation score, than all before it."""

    kind: ClassVar[str] = "run.best"
    once_per: ClassVar[tuple[str, ...]] = ("run", "node")

    competition: str
    run: str
    node: int
    score: float
    earlier: float | None
    """None: it is the first one."""
    title: str
    """What the node does, in one line."""


@dataclass(frozen=True)
class CompetitionOver(Event):
    """A competition has ended, and the run's report is written."""

    kind: ClassVar[str] = "competition.over"
    once_per: ClassVar[tuple[str, ...]] = ("run", "private")

    competition: str
    run: str
    score: float | None
    """None: nothing was sent, or there is no score."""
    private: bool
    """Whether the score is of the private leaderboard, which is final."""
    rank: int | None
    teams: int
    medal: Medal | None
    report: str
    """Path of the page."""


@dataclass(frozen=True)
class SubmissionScored(Event):
    """The site gave a public score."""

    kind: ClassVar[str] = "submission.scored"
    once_per: ClassVar[tuple[str, ...]] = ("tag",)

    competition: str
    tag: str
    """Identifies the submission at the site."""
    node: int
    public_score: float
    validation_score: float | None


@dataclass(frozen=True)
class SubmissionFailed(Event):
    """The submission may not have arrived, or the bot gave it up."""

    kind: ClassVar[str] = "submission.failed"
    once_per: ClassVar[tuple[str, ...]] = ("tag",)

    competition: str
    tag: str
    node: int
    reason: str


@dataclass(frozen=True)
class SubmissionRefused(Event):
    """The site refused the file."""

    kind: ClassVar[str] = "submission.refused"
    once_per: ClassVar[tuple[str, ...]] = ("tag",)

    competition: str
    tag: str
    node: int
    words: str
    """The site's message."""


@dataclass(frozen=True)
class SubmissionDelayed(Event):
    """The site does not take a submission now, for a reason that a person may have to remove; it is tried again."""

    kind: ClassVar[str] = "submission.delayed"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "words", "day")

    competition: str
    node: int
    words: str
    """The site's message."""
    day: date
    """In UTC."""


@dataclass(frozen=True)
class QuotaUnknown(Event):
    """The site has not said how many submissions it takes, as before a team's first one; one is tried."""

    kind: ClassVar[str] = "submission.quota"
    once_per: ClassVar[tuple[str, ...]] = ("competition",)

    competition: str
    tag: str
    node: int


@dataclass(frozen=True)
class NotebookPushed(Event):
    """A private notebook was pushed, and runs at the site before it is submitted."""

    kind: ClassVar[str] = "notebook.pushed"
    once_per: ClassVar[tuple[str, ...]] = ("ref", "version")

    competition: str
    tag: str
    node: int
    ref: str
    """owner/slug"""
    version: int


@dataclass(frozen=True)
class NotebookFailed(Event):
    """A node's notebook is not submitted: the dress rehearsal refused it, or it failed at the site."""

    kind: ClassVar[str] = "notebook.failed"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "node", "why")

    competition: str
    node: int
    why: str
    log: str
    """The end of what it printed at the site; empty: nothing is known of that."""


@dataclass(frozen=True)
class ScoresDisagree(Event):
    """Validation scores no longer predict public ones."""

    kind: ClassVar[str] = "submission.disagree"
    once_per: ClassVar[tuple[str, ...]] = ("run",)

    competition: str
    run: str
    pairs: int
    """Submissions with both scores."""
    why: str


@dataclass(frozen=True)
class ApprovalAsked(Event):
    """A submission is held until the owner approves it."""

    kind: ClassVar[str] = "approval.asked"
    once_per: ClassVar[tuple[str, ...]] = ("tag",)

    competition: str
    tag: str
    node: int
    id: str
    """The number to approve it by."""
    validation_score: float | None
    why: str


@dataclass(frozen=True)
class Choice:
    """One submission proposed as final."""

    tag: str
    node: int
    public_score: float | None
    validation_score: float | None


@dataclass(frozen=True)
class FinalSelectionProposed(Event):
    """Which submissions should count; a person selects them on the website."""

    kind: ClassVar[str] = "selection.proposed"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "deadline", "tags")

    competition: str
    choices: tuple[Choice, ...]
    deadline: datetime
    url: str

    @property
    def tags(self) -> str:
        """The choice: other scores of the same submissions are no news."""
        return ", ".join(sorted(choice.tag for choice in self.choices))


@dataclass(frozen=True)
class BudgetReached(Event):
    """A share of a cap is spent."""

    kind: ClassVar[str] = "budget.reached"
    once_per: ClassVar[tuple[str, ...]] = ("level", "period", "what", "cap", "share")

    level: str
    """Whose budget, such as a run's id, a competition's name or `day`."""
    period: str
    """The budget's period, such as `2020-01-31`; empty if it has none."""
    what: Kind
    share: Literal[50, 80, 100]
    """Percent."""
    spent: float
    """In the kind's unit."""
    cap: float

    def context(self) -> dict[str, Any]:
        """Return the amounts in words."""
        amounts = {"spent": words(self.what, self.spent), "cap": words(self.what, self.cap)}
        return {**super().context(), "what": kind_name(self.what), **amounts}


def shares_reached(spent: float, cap: float) -> tuple[Literal[50, 80, 100], ...]:
    """Return the shares of a cap that are spent; all of them if the cap is zero."""
    shares: tuple[Literal[50, 80, 100], ...] = (50, 80, 100)
    return tuple(share for share in shares if spent * 100 >= cap * share)


@dataclass(frozen=True)
class RulesNotAccepted(Event):
    """Somebody must accept a competition's rules on the website."""

    kind: ClassVar[str] = "problem.rules"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "rules_sha")
    urgent: ClassVar[bool] = True

    competition: str
    url: str
    rules_sha: str | None = None
    """SHA-256 of the rules page, hex; None: it could not be read. Changed rules are a new notice."""


@dataclass(frozen=True)
class RulesToConfirm(Event):
    """The owner must confirm a competition's rules once; nothing is sent before."""

    kind: ClassVar[str] = "problem.confirm"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "lines")
    urgent: ClassVar[bool] = True

    competition: str
    url: str
    command: str
    """What confirms them."""
    lines: tuple[str, ...]
    """What they say, each with its quoted sentence; none: nobody has read them."""
    page: bool
    """Whether there is a page of rules."""
    silent: tuple[str, ...] = ()
    """Topics of which they say nothing, as the model read them."""
    note: str = ""
    """Why the model has not read them."""


@dataclass(frozen=True)
class SamplesToModel(Event):
    """Samples of a competition's data go to a model's endpoint."""

    kind: ClassVar[str] = "model.samples"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "endpoint")

    competition: str
    endpoint: str
    """Its host and port."""


@dataclass(frozen=True)
class CompetitionKind(Event):
    """The competition is of a kind that the bot does not work on, or not as on others."""

    kind: ClassVar[str] = "competition.kind"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "name", "worked_on")
    urgent: ClassVar[bool] = True

    competition: str
    name: str
    """Such as `simulation`."""
    sentence: str
    """What the kind is, and what the bot does there; without the competition's name."""
    source: str
    """What says so."""
    worked_on: bool


@dataclass(frozen=True)
class TaskCardIncomplete(Event):
    """The task is not certain: the owner confirms what is proposed, or writes the missing lines."""

    kind: ClassVar[str] = "problem.card"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "lines")
    urgent: ClassVar[bool] = True

    competition: str
    file: str
    """Where the lines go."""
    lines: tuple[str, ...]
    """Exactly as they must be written, each with what the owner has to decide."""
    note: str = ""
    """What the reader was in doubt of, or why nothing is proposed."""
    by: str = ""
    """Who proposes the lines; empty: nobody does."""
    quotes: tuple[str, ...] = ()
    """The sentences of the pages that say so."""
    command: str = ""
    """What confirms the lines as they are."""


@dataclass(frozen=True)
class DataReplaced(Event):
    """The hosts have replaced files of the data since it was fetched; the bot goes on with what it has."""

    kind: ClassVar[str] = "problem.data"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "files", "bytes")
    urgent: ClassVar[bool] = True

    competition: str
    folder: str
    fetched_at: datetime
    files_before: int
    bytes_before: int
    files: int
    bytes: int


@dataclass(frozen=True)
class GraderUnusable(Event):
    """The owner's grader file cannot be used."""

    kind: ClassVar[str] = "problem.grader"
    once_per: ClassVar[tuple[str, ...]] = ("competition", "why")
    urgent: ClassVar[bool] = True

    competition: str
    why: str
    """A sentence that names the file."""


@dataclass(frozen=True)
class WorkBroken(Event):
    """Something keeps the bot from its work, and no other notice covers it."""

    kind: ClassVar[str] = "problem.work"
    once_per: ClassVar[tuple[str, ...]] = ("of", "since")
    urgent: ClassVar[bool] = True

    since: datetime
    """When it began: the same problem is one notice."""
    of: str
    """A competition, `Docker` or `bot.toml`."""
    why: str


@dataclass(frozen=True)
class DiskLow(Event):
    """There is no room for another run."""

    kind: ClassVar[str] = "problem.disk"
    once_per: ClassVar[tuple[str, ...]] = ("folder", "since")
    urgent: ClassVar[bool] = True

    since: datetime
    folder: str
    free_gb: float
    wanted_gb: float


@dataclass(frozen=True)
class CompetitionDay:
    """One competition's day."""

    competition: str
    rank: int | None
    teams: int | None
    best_score: float | None
    nodes: int
    """Created that day; submissions and spending are that day's too."""
    submissions: int
    spent_usd: float | None
    """None: a price is unknown."""
    days_left: float | None
    """None: the deadline is unknown."""
    scores: tuple[float, ...] = ()
    """The best validation score over time, oldest first."""


@dataclass(frozen=True)
class DailySummary(Event):
    """What a day brought, competition by competition."""

    kind: ClassVar[str] = "summary.daily"
    once_per: ClassVar[tuple[str, ...]] = ("day",)

    day: date
    competitions: tuple[CompetitionDay, ...]
    problems: tuple[str, ...] = ()
    """What still needs a person, one line each."""


@dataclass(frozen=True)
class Trial(Event):
    """A test message that shows whether a service works."""

    kind: ClassVar[str] = "notify.trial"
    once_per: ClassVar[tuple[str, ...]] = ("at",)

    at: datetime


KINDS = frozenset(event.kind for event in Event.__subclasses__())
"""The kinds of all notices, for checking the configuration."""
