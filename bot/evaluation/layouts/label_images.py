"""One file a row, and the labels in a file of the same name in another folder: images whose pixels are predicted."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from PIL import Image

from bot.evaluation.layouts.data_files import data_files
from bot.evaluation.layouts.file_index import INDEX, FileTable, RowFile, index_header
from bot.evaluation.layouts.layout import Layout, PredictionRow, RowMapping
from bot.evaluation.metrics.registry import prediction_kind
from bot.evaluation.tables.csv_table import Rows, Table, read_table
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout

LABEL_FILE = "label_file"
_IMAGES = frozenset({".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".gif"})
_FEWEST = 10
_PROBE = 5000


@dataclass(frozen=True)
class Pixels(RowMapping):
    """A row of predictions for each pixel of an image: `<image>_<row>_<column>`, a brightness from 0 to 1."""

    has_many_rows = True
    data_dir: Path
    first: int
    """Number of the first row and column."""
    down: bool
    """Whether the sample goes down each column, and not along each row."""

    def prediction_rows(self, layout: Layout, row: int) -> Iterator[PredictionRow]:
        """Yield what is asked for one training row."""
        with Image.open(self.data_dir / layout.labels[row][0]) as image:
            grey = image.convert("L")
        width, height = grey.size
        values = grey.tobytes()
        name = layout.ids[row]
        outer, inner = (width, height) if self.down else (height, width)
        for a, b in product(range(outer), range(inner)):
            y, x = (b, a) if self.down else (a, b)
            yield PredictionRow(f"{name}_{y + self.first}_{x + self.first}", (repr(values[y * width + x] / 255),), {})

    def unit(self, identifier: str) -> str:
        """Return the id of the row that a row of predictions is of."""
        return identifier.rsplit("_", 2)[0]

    def brightness(self, layout: Layout, row: int) -> float:
        """Return the mean of what is asked for one training row."""
        with Image.open(self.data_dir / layout.labels[row][0]) as image:
            values = image.convert("L").tobytes()
        return sum(values) / len(values) / 255


def files_with_labels(data_dir: Path, card: TaskCard, test: Rows | None, sample: Table) -> Layout | None:
    """Read training rows that are images, each with an image of labels; None if the sample does not ask for pixels.

    Raises UnsupportedLayout: it does, but images and labels cannot be paired.
    """
    form = _form(data_dir, sample, card)
    if form is None:
        return None
    tested = {identifier.rsplit("_", 2)[0] for identifier in sample.column(card.id_column)}
    folders: dict[Path, dict[str, Path]] = defaultdict(dict)
    for path in data_files(data_dir):
        if path.suffix.lower() in _IMAGES:
            folders[path.parent][path.stem] = path
    pairs = [(inputs, labels) for inputs in folders for labels in folders if _pair(inputs, labels, folders, tested)]
    if len(pairs) != 1:
        raise UnsupportedLayout(
            f"The sample submission asks for pixels; {len(pairs)} pairs of folders could be images and their labels."
        )
    inputs, labels = (folders[folder] for folder in pairs[0])
    names = sorted(inputs.keys() & labels.keys())
    entries = tuple(RowFile(name, inputs[name], labels[name].as_posix(), labels[name]) for name in names)
    table = FileTable(data_dir / INDEX, index_header(card.id_column, LABEL_FILE), data_dir, entries, None)
    cells, columns = tuple((entry.label,) for entry in entries), (LABEL_FILE,)
    notes = (f"the labels are the files in {pairs[0][1].as_posix()}/; train.csv is an index of the files",)
    ids = tuple(names)
    return Layout(card, table, test, sample, card.id_column, ids, columns, columns, cells, None, form=form, notes=notes)


def files_in_index(view_dir: Path, card: TaskCard, sample: Table) -> Layout | None:
    """Read the training rows of a view of such files from their index; None where it has none.

    The folders of a view do not show which images are which: its validation images have no labels there.
    """
    form, index = _form(view_dir, sample, card), view_dir / INDEX
    if form is None or not index.is_file():
        return None
    table, header = read_table(index), index_header(card.id_column, LABEL_FILE)
    if table.header != header:
        return None
    ids, columns = tuple(table.column(card.id_column)), (LABEL_FILE,)
    cells = tuple(table.columns(columns))
    return Layout(card, table, None, sample, card.id_column, ids, header[1:], columns, cells, None, form=form)


def _form(data_dir: Path, sample: Table, card: TaskCard) -> Pixels | None:
    """How the sample numbers pixels, by its first rows."""
    if len(card.prediction_columns) != 1 or prediction_kind(card) != "number":
        return None
    id_place = sample.header.index(card.id_column)
    places: list[tuple[str, int, int]] = []
    for row in islice(sample.rows(), _PROBE):
        name, *numbers = row[id_place].rsplit("_", 2)
        if not name or len(numbers) != 2 or not all(n.isdigit() and n.isascii() for n in numbers):
            return None
        places.append((name, int(numbers[0]), int(numbers[1])))
    if len(places) < 2 or places[0][1] != places[0][2] or places[0][1] not in (0, 1):
        return None
    return Pixels(data_dir, places[0][1], down=places[1][1] != places[0][1])


def _pair(inputs: Path, labels: Path, folders: dict[Path, dict[str, Path]], tested: set[str]) -> bool:
    """Whether two folders hold the same names, and neither the images of the test; names like `train_cleaned` decide."""
    shared_names = folders[inputs].keys() & folders[labels].keys()
    if inputs == labels or len(shared_names) < _FEWEST or len(shared_names) < 0.9 * len(folders[inputs]):
        return False
    if any(tested and tested <= folders[folder].keys() and "test" in folder.as_posix() for folder in (inputs, labels)):
        return False
    # The test has inputs and no labels, and a folder of its own that is named as the training inputs' is.
    as_test = Path(inputs.as_posix().replace("train", "test"))
    return as_test != inputs and as_test in folders and Path(labels.as_posix().replace("train", "test")) not in folders
