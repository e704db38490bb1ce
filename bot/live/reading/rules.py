"""The rules at entry: read by the model, for the owner to confirm once; the bot works meanwhile, but sends nothing."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, get_args

from bot.configuration.competition import CompetitionSettings
from bot.live.models import choice_of, open_reader
from bot.live.reading.quotes import ReadPage, not_found
from bot.live.services import Shared
from bot.models import Item
from bot.models.fingerprint import prompt_hash
from bot.models.open_model import endpoint_name
from bot.models.parsing import json_answer
from bot.models.template import TemplatePrompt
from bot.notify import Notice
from bot.notify.outbox import notify
from bot.status.problems import begin, end
from bot.submission.rules import RuleLine, Topic, note_reading, rules_of, to_confirm
from scrapers.kaggle.card.evidence import Evidence
from state.closed_model import ClosedModel
from state.errors import BudgetExceeded, ModelError, Unparsable

_MAX_PAGE_CHARACTERS = 60_000
"""Characters of the page."""


class RulesReading(ClosedModel):
    """What a page of rules says."""

    lines: tuple[RuleLine, ...]


@dataclass(frozen=True)
class ReadRules(TemplatePrompt[RulesReading]):
    """Asks what the rules say of the topics that concern the bot."""

    template: ClassVar[str] = "read_rules.j2"

    title: str
    page: ReadPage
    read_at: datetime
    known_topics: tuple[str, ...] = get_args(Topic)
    longest: int = _MAX_PAGE_CHARACTERS

    def items(self) -> tuple[Item, ...]:
        """Return the page, known since it was read."""
        return (Item(f"page/{self.page.name}", self.read_at),)

    def parse(self, text: str) -> RulesReading:
        """Read the reply; raises Unparsable, too, where a quote does not stand on the page, or a topic comes twice."""
        reading = json_answer(text, RulesReading)
        if missing := not_found([line.quote for line in reading.lines], [self.page]):
            raise Unparsable(f"not quoted word for word from the page: {missing[0]!r}")
        topics = [line.topic for line in reading.lines]
        if twice := [topic for topic in topics if topics.count(topic) > 1]:
            raise Unparsable(f"several lines for {twice[0]!r}: write only one")
        return reading


async def ask_rules(shared: Shared, settings: CompetitionSettings, evidence: Evidence, url: str) -> None:
    """Tell the owner once what the rules say, and what the model's endpoint will see; raises UsageError as `open_reader` does."""
    slug = evidence.slug
    _tell_of_samples(shared, settings, slug)
    with shared.store.read() as session:
        confirmed = rules_of(session, slug, read=settings.rules_read).confirmed
    key = to_confirm(slug)
    if confirmed or not settings.submit:
        with shared.store.write() as tx:
            end(tx, key)
        return
    page = next((page for page in evidence.pages if page.name.lower() == "rules" and page.content.strip()), None)
    lines, note = ((), "") if page is None else await _read(shared, settings, evidence, ReadPage("rules", page.content))
    command = f"bot approve {slug} --rules"
    of_page = "the model has summarised them" if lines else "no model has summarised them"
    state = of_page if page is not None else "the site has no rules page"
    sentence = (
        f"{slug}: confirm the rules ({state}): read {url}, then run `{command}`; the bot submits nothing until you do"
    )
    topics = {line.topic for line in lines}
    facts = {
        "url": url,
        "command": command,
        "lines": tuple(map(str, lines)),
        "page": page is not None,
        "silent": tuple(topic for topic in get_args(Topic) if topic not in topics),
        "note": note,
    }
    with shared.store.write() as tx:
        note_reading(tx, slug, lines)
        begin(tx, key, sentence, Notice("problem.confirm", slug, facts), asks=True)


async def _read(
    shared: Shared, settings: CompetitionSettings, evidence: Evidence, page: ReadPage
) -> tuple[tuple[RuleLine, ...], str]:
    prompt = ReadRules(evidence.title, page, shared.clock.now())
    async with open_reader(shared, evidence.slug, settings) as asker:
        if asker is None:
            return (), ""
        try:
            reading = await asker.ask(prompt, role="analyst", name=f"rules {prompt_hash(prompt)[:16]}")
        except (ModelError, BudgetExceeded) as error:
            return (), f"The model could not read the rules: {error}"
    return reading.lines, ""


def _tell_of_samples(shared: Shared, settings: CompetitionSettings, slug: str) -> None:
    models = shared.machinery.models
    if choice_of(models, settings).kind == "openai":
        with shared.store.write() as tx:
            notify(tx, Notice("model.samples", slug, {"endpoint": endpoint_name(models.base_url)}))
