"""Which column of a submission names its rows, and which hold the predictions."""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scrapers.kaggle.card.evidence import Sample, Tables
from scrapers.kaggle.card.pages import Block

_ID_LIKE = re.compile(
    r"(?i:(?:.*[_ -])?(?:id|ids|uid|uuid|guid|key|index|idx|image|img|filename|file|fname|datetime|rowid|name)"
    r"(?:[_ -]?(?:id|name|code|key))?)|.*[a-z0-9](?:Id|ID)"
)
_CELL = re.compile(r"[\w .:/()#%+-]{1,80}")
_DOTS = re.compile(r"\.{2,}|\u2026|etc\.?")
_SPEAKS_OF_FORM = re.compile(r"submi|header|format|should look|must contain|sample", re.IGNORECASE)
_WITHIN = 3
"""Paragraphs above a table in which the submission's form is spoken of."""


@dataclass(frozen=True)
class Header:
    """A submission's header as a text shows it."""

    columns: tuple[str, ...]
    whole: bool
    """Whether it is not cut short by dots."""
    page: str

    def fits(self, header: Sequence[str]) -> bool:
        """Whether a sample's header is this one, capitals and blanks aside."""
        mine, other = [_plain(name) for name in self.columns], [_plain(name) for name in header]
        return mine == other if self.whole else mine == other[: len(mine)]


@dataclass(frozen=True)
class ColumnsReading:
    """The columns, as far as they are certain."""

    id_column: str | None
    predictions: tuple[str, ...] | None
    one_of_classes: bool = False
    """Whether one column of train.csv has classes that the prediction columns are named by."""
    sources: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    proposed: tuple[str, ...] = ()
    """The id and the predictions in order, where there is anything to propose from."""
    proposed_key: tuple[str, ...] = ()
    """What may say with the id which row is meant, where that repeats."""


def read_columns(
    tables: Tables,
    shown: Sequence[Header],
    own_id: str | None = None,
    own_predictions: tuple[str, ...] | None = None,
    own_key: tuple[str, ...] = (),
) -> ColumnsReading:
    """Tell id and predictions apart.

    Args:
        tables: the data.
        shown: headers of submissions that the pages show.
        own_id: the id column as the owner says.
        own_predictions: the prediction columns as the owner says.
        own_key: columns that with the id tell rows apart, as the owner says.
    """
    sample = tables.sample
    if sample is None:
        return _from_text(tables, shown)
    header = sample.header
    if len(set(header)) != len(header) or "" in header or len(header) < 2:
        return ColumnsReading(None, None, conflicts=(f"{sample.name} has the header {', '.join(header)!r}",))
    asked = _Asked.of(tables, sample, shown, owned=bool(own_id or own_predictions))
    if own_predictions:
        rest = [name for name in header if name not in (*own_predictions, *own_key)]
        identifier = own_id or (rest[0] if len(rest) == 1 else asked.identifier())
    else:
        identifier = own_id or asked.identifier()
    predictions = own_predictions or tuple(name for name in header if name not in (identifier, *own_key))
    classes = has_classes(tables.labels, predictions)
    if identifier is not None and own_predictions is None:
        asked.confirm(predictions, classes)
    certain = identifier is not None and not asked.conflicts
    return ColumnsReading(
        identifier,
        predictions if certain or own_predictions else None,
        classes,
        tuple(asked.sources),
        tuple(asked.conflicts),
        _proposed(header, own_id, own_key or sample.more),
        () if own_key else sample.more,
    )


def _proposed(header: Sequence[str], own_id: str | None, own_key: Sequence[str]) -> tuple[str, ...]:
    rest = [name for name in header if name != own_id and name not in own_key]
    return tuple(rest) if own_id is None else (own_id, *rest)


def headers_in(blocks: Sequence[Block]) -> list[Header]:
    """Return the headers of submissions that pages show, in code or in plain lines, each once."""
    found: list[Header] = []
    for place, block in enumerate(blocks):
        above = [one for one in blocks[max(0, place - _WITHIN) : place] if one.page == block.page]
        formed = block.topic == "submission" or any(_SPEAKS_OF_FORM.search(one.text) for one in above)
        if (
            block.kind != "heading"
            and block.topic != "data"
            and formed
            and (header := _header(block))
            and header not in found
        ):
            found.append(header)
    return found


def _header(block: Block) -> Header | None:
    lines = [line.strip().strip("`").strip() for line in block.text.splitlines() if line.strip()]
    for first, second in itertools.pairwise(lines):
        if "|" in first and re.fullmatch(r"[\s|:-]+", second):
            return _as_header([cell.strip() for cell in first.strip("|").split("|")], True, block)
        names = [name.strip().strip('"') for name in first.split(",")]
        whole = not any(_DOTS.fullmatch(name) for name in names)
        names = list(itertools.takewhile(lambda name: not _DOTS.fullmatch(name), names))
        cells = second.split(",")
        if len(names) >= 2 and len(cells) >= (len(names) if whole else 2) and _is_row(cells):
            return _as_header(names, whole, block)
    return None


def _as_header(names: Sequence[str], whole: bool, block: Block) -> Header | None:
    fine = len(names) >= 2 and all(_CELL.fullmatch(name) and re.search(r"[A-Za-z]", name) for name in names)
    return Header(tuple(names), whole, block.page) if fine and len(set(names)) == len(names) else None


def _is_row(cells: Sequence[str]) -> bool:
    """Whether it looks like data rather than prose: no cell is a long phrase, and one has a digit or all are short."""
    short = all(len(cell.split()) <= 3 for cell in cells)
    return short and any(re.search(r"\d", cell) for cell in cells)


@dataclass
class _Asked:
    """A sample, and what else is asked about its columns."""

    tables: Tables
    sample: Sample
    agreeing: tuple[Header, ...]
    """Headers on the pages that fit it."""
    sources: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, tables: Tables, sample: Sample, shown: Sequence[Header], *, owned: bool) -> "_Asked":
        """Begin with what sample and pages say; pages that say otherwise do not matter where the owner has spoken."""
        asked = cls(tables, sample, tuple(one for one in shown if one.fits(sample.header)))
        asked.sources.append(f"{sample.name}: {_some(sample.header)}")
        asked.sources += [f'page "{one.page}": {_some(one.columns)}' for one in asked.agreeing[:1]]
        if shown and not asked.agreeing and not owned:
            asked.conflicts.append(
                f'page "{shown[0].page}" shows the header {_some(shown[0].columns)}; {sample.name} has {_some(sample.header)}'
            )
        return asked

    def identifier(self) -> str | None:
        """Return the column that names the rows, if that is certain."""
        if self.conflicts:
            return None
        header, first = self.sample.header, self.sample.header[0]
        if first not in self.sample.unique and self.sample.rows:
            told = f"values of {first!r}, the first column of {self.sample.name}, occur more than once"
            self.conflicts.append(f"{told}: say what the id is, and what else says which row is meant")
            return None
        shared = [name for name in header if name in (self.tables.test or ())]
        if shared == [first]:
            self.sources.append(f"of these test.csv has {first!r} alone")
            return first
        if shared:
            self.conflicts.append(f"test.csv has {_some(shared)} of the columns of {self.sample.name}")
            return None
        if _ID_LIKE.fullmatch(first) and not any(_ID_LIKE.fullmatch(name) for name in header[1:]):
            self.sources.append(f"{first!r} comes first, and is named as ids are")
            return first
        if self.agreeing and len(header) == 2 and self.sample.rows:
            self.sources.append(f"{first!r} comes first, and its values differ")
            return first
        self.conflicts.append(f"nothing but its place says that {first!r} names the rows")
        return None

    def confirm(self, predictions: Sequence[str], classes: bool) -> None:
        """Ask who besides the sample says that all of these are predictions."""
        train, test = self.tables.train, self.tables.test
        if classes:
            self.sources.append("a column of train.csv has these classes")
        elif train is not None and all(name in train for name in predictions):
            self.sources.append("train.csv has them" + (", test.csv has not" if test is not None else ""))
        elif len(predictions) == 1:
            self.sources.append("there is no other column")
        elif self.agreeing and all(name in self.sample.numeric for name in predictions):
            self.sources.append("the page shows the same, and all are numbers")
        else:
            self.conflicts.append(f"nothing says that all other columns of {self.sample.name} are predictions")


def has_classes(labels: Mapping[str, frozenset[str]], predictions: Sequence[str]) -> bool:
    """Whether a training column's values are the prediction columns' names, perhaps after one prefix before all."""
    names = set(predictions)
    for values in labels.values():
        filled = {value for value in values if value.strip()}
        longest = max(filled, key=len, default="")
        if len(filled) < 2 or len(names) < 2:
            continue
        for name in names:
            prefix = name.removesuffix(longest)
            if prefix != name and {prefix + value for value in filled} == names:
                return True
    return False


def _from_text(tables: Tables, shown: Sequence[Header]) -> ColumnsReading:
    """Without a sample, take what a page shows if train.csv and test.csv say the same."""
    whole = [one for one in shown if one.whole]
    if tables.candidates or len(whole) != 1 or len(shown) != 1 or tables.train is None or tables.test is None:
        reason = (
            "it is not certain which file is the sample submission"
            if tables.candidates
            else "there is no sample submission"
        )
        return ColumnsReading(None, None, conflicts=(reason,), proposed=whole[0].columns if whole else ())
    first, *others = whole[0].columns
    classes = has_classes(tables.labels, others)
    trained = all(name in tables.train for name in others) or classes
    if first in tables.test and trained and not set(others) & set(tables.test):
        sources = (f'page "{whole[0].page}": {_some(whole[0].columns)}', "train.csv and test.csv agree")
        return ColumnsReading(first, tuple(others), classes, sources, (), whole[0].columns)
    reason = "there is no sample submission, and the tables do not bear out what the page shows"
    return ColumnsReading(None, None, classes, conflicts=(reason,), proposed=whole[0].columns)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", "", name).casefold()
