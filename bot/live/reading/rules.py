"""The rules at entry: read by the model, for the owner to confirm once; the bot works meanwhile, but sends nothing."""

from typing import get_args

from bot.configuration.competition import CompetitionSettings
from bot.live.models import choice_of, open_reader
from bot.live.reading.quotes import ReadPage
from bot.live.reading.rules_prompt import ReadRules
from bot.live.shared import Shared
from bot.models.fingerprint import prompt_hash
from bot.models.open import endpoint_name
from bot.notify.events import RulesToConfirm, SamplesToModel
from bot.notify.outbox import notify
from bot.status.problems import begin, end
from bot.submission.rules import RuleLine, Topic, note_reading, rules_of
from scrapers.kaggle.card.evidence import Evidence
from state.errors import BudgetExceeded, ModelError


async def ask_rules(shared: Shared, own: CompetitionSettings, evidence: Evidence, url: str) -> None:
    """Tell the owner once what the rules say, and what the model's endpoint will see; raises UsageError as `open_reader` does."""
    slug = evidence.slug
    _tell_of_samples(shared, own, slug)
    with shared.store.read() as session:
        confirmed = rules_of(session, slug, read=own.rules_read).confirmed
    key = to_confirm(slug)
    if confirmed or not own.submit:
        with shared.store.write() as tx:
            end(tx, key)
        return
    page = next((page for page in evidence.pages if page.name.lower() == "rules" and page.content.strip()), None)
    lines, note = ((), "") if page is None else await _read(shared, own, evidence, ReadPage("rules", page.content))
    command = f"bot approve {slug} --rules"
    of_page = "the model has read its rules" if lines else "nobody has read its rules"
    what = of_page if page is not None else "the site gave no page of its rules"
    sentence = f"{slug}: {what}: read {url}, and confirm by `{command}`; nothing is sent before"
    told = {line.topic for line in lines}
    silent = tuple(topic for topic in get_args(Topic) if topic not in told)
    event = RulesToConfirm(slug, url, command, tuple(map(str, lines)), page is not None, silent, note)
    with shared.store.write() as tx:
        note_reading(tx, slug, lines)
        begin(tx, key, sentence, event, asks=True)


def to_confirm(slug: str) -> str:
    """Return the key of the problem that rules are not confirmed."""
    return f"rules to confirm/{slug}"


async def _read(
    shared: Shared, own: CompetitionSettings, evidence: Evidence, page: ReadPage
) -> tuple[tuple[RuleLine, ...], str]:
    """Return what the model reads on the page, or why it reads nothing."""
    prompt = ReadRules(evidence.title, page, shared.clock.now())
    async with open_reader(shared, evidence.slug, own) as asker:
        if asker is None:
            return (), ""
        try:
            found = await asker.ask(prompt, role="analyst", name=f"rules {prompt_hash(prompt)[:16]}")
        except (ModelError, BudgetExceeded) as error:
            return (), f"The model could not read them: {error}"
    return found.lines, ""


def _tell_of_samples(shared: Shared, own: CompetitionSettings, slug: str) -> None:
    models = shared.machinery.models
    if choice_of(models, own).kind == "openai":
        with shared.store.write() as tx:
            notify(tx, SamplesToModel(slug, endpoint_name(models.base_url)).notice())
