"""A competition's task for prompts: its facts, the owner's notes, and the description's relevant parts."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bot.models import Item
from bot.notebooks.limits import NotebookLimits
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.sections import Section, sections, topic_of

LONGEST = 20_000
"""Characters; more than nearly all competitions write about scoring and data."""
_ORDER = {"evaluation": 0, "submission": 0, "data": 1}
"""Order of sections by topic."""
_LAST = 2
_THANKS = re.compile(r"\b(?:acknowledge?ments?|citations?|how to cite|prizes?)\b", re.IGNORECASE)
_NO_MATTER = re.compile(
    r"\b(?:awards?|timeline|(?:key|important) dates|sponsors?|faqs?|frequently asked|getting started|start here"
    r"|about us|about the (?:host|organi[sz]er|sponsor|company|author)s?|team merg\w+|code requirements)\b"
    r"|^(?:(?:competition|official) )?(?:rules|teams?|hosts?|contacts?|organi[sz]ers?|eligibility|tutorials?|dates)\W*$",
    re.IGNORECASE,
)
_LEVEL_OF_BOLD = 7
_TARGET = r"(?:[^()\s]|\([^()\s]{0,100}\)){0,1000}"
_PICTURE = re.compile(rf"!\[[^\[\]]{{0,300}}\]\({_TARGET}(?: \"[^\"\n]{{0,300}}\")?\)")
_LINK = re.compile(rf"\[([^\[\]]{{1,300}})\]\(https?://{_TARGET}\)")
_BLANKS = re.compile(r"\n{3,}")


@dataclass(frozen=True)
class OwnerNote:
    """A note of the owner's on a competition: the only trusted text in a prompt."""

    item: Item
    """`note/<id>`, with the time at which it was written."""
    text: str


@dataclass(frozen=True)
class TaskText:
    """The task as prompts show it."""

    title: str
    description: str
    metric: str
    direction: str
    id_column: str
    prediction_columns: tuple[str, ...]
    submission_file: str
    notes: tuple[OwnerNote, ...] = ()
    """The owner's notes, oldest first."""
    self_reported: bool = False
    """Whether the score is the one that the script prints, as no labels can be withheld."""
    key_columns: tuple[str, ...] = ()
    """Further columns that identify a row together with the id."""
    stores_models: bool = False
    """Whether a second script predicts new rows with what the first one has stored in `weights/`, if it can be split so."""
    notebook: NotebookLimits | None = None
    """What a notebook may take, which Kaggle runs again on hidden test rows; None: a file is handed in."""

    def items(self) -> tuple[Item, ...]:
        """Return the dated parts, for the prompt's own `items`."""
        return tuple(note.item for note in self.notes)

    @classmethod
    def from_card(
        cls,
        card: TaskCard,
        notes: Sequence[OwnerNote] = (),
        *,
        self_reported: bool = False,
        stores_models: bool = False,
        limits: NotebookLimits | None = None,
    ) -> "TaskText":
        """Return a card's task: its description's relevant parts, the owner's notes, and the limits of notebooks."""
        return cls(
            title=card.title,
            description=shown_description(card.description),
            metric=card.metric.name,
            direction=card.metric.direction,
            id_column=card.id_column,
            key_columns=card.key_columns,
            prediction_columns=card.prediction_columns,
            submission_file=card.submission_file,
            notes=tuple(notes),
            self_reported=self_reported,
            stores_models=stores_models,
            notebook=(limits or NotebookLimits()) if card.kind == "code" else None,
        )


def shown_description(text: str, longest: int = LONGEST) -> str:
    """Return a description without what cannot matter for a score, what matters most first.

    Sections on evaluation and the submission's format come first, then those on data, then the others in their order. Prizes,
    sponsors, timelines, thanks and the like are dropped, and so are pictures and the targets of links, which a script cannot
    reach. A text without headings stays as it is; one of more characters than `longest` is cut behind a paragraph, with a note.
    """
    with_content = [s for s in sections(_LINK.sub(r"\1", _PICTURE.sub("", text))) if _has_content(s)]
    in_order = sorted((s for s in with_content if _dropped_title(s.titles) is None), key=_place)
    dropped_titles = [title for s in with_content if (title := _dropped_title(s.titles)) is not None]
    titles_text = "; ".join(dict.fromkeys(" ".join(title.split())[:40] for title in dropped_titles))
    titles_text = titles_text if len(titles_text) <= 200 else f"{titles_text[:200]}…"
    note = f"\n\n[left out: {titles_text}]" if dropped_titles else ""
    return _fit_into([_section_text(s) for s in in_order], longest - len(note)) + note


def _has_content(section: Section) -> bool:
    """Return whether there is text below a usual heading; other headings, and lines in bold, may be sentences."""
    is_heading = section.level == _LEVEL_OF_BOLD or topic_of(section.titles[-1] if section.titles else "") is None
    return is_heading or any(line.strip() for line in section.lines)


def _place(section: Section) -> int:
    topics = [topic for title in section.titles if (topic := topic_of(title)) not in (None, "other")]
    return _ORDER.get(topics[-1], _LAST) if topics else _LAST


def _dropped_title(titles: Sequence[str]) -> str | None:
    """Return the irrelevant heading above a section; None if there is none, or a relevant one below it."""
    title_dropped, topic = None, None
    for title in titles:
        own_topic = topic_of(title)
        topic = topic if own_topic in (None, "other") else own_topic
        # Below a heading on data, `Hosts` is more likely a table than the competition's sponsors.
        if _THANKS.search(title) or (topic not in _ORDER and _NO_MATTER.search(title)):
            title_dropped, topic = title_dropped or title, None
        elif own_topic in _ORDER:
            title_dropped = None
    return title_dropped


def _section_text(section: Section) -> str:
    title = section.titles[-1] if section.titles else ""
    heading = f"**{title}**" if section.level == _LEVEL_OF_BOLD else f"{'#' * section.level} {title}"
    return _BLANKS.sub("\n\n", "\n".join((*([heading] if title else []), *section.lines)).strip())


def _fit_into(parts: Sequence[str], room: int) -> str:
    """Return the parts, joined, up to a number of characters, the last one cut behind a paragraph."""
    text = "\n\n".join(parts)
    if len(text) <= room:
        return text
    cut = text[: room - 60]
    end = next((place for mark in ("\n\n", "\n", " ") if (place := cut.rfind(mark)) > len(cut) // 2), len(cut))
    return f"{cut[:end].rstrip()}\n\n[truncated: {len(text) - end:,} more characters]"
