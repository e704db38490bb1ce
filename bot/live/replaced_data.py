"""Whether a competition's hosts have replaced its data since the bot fetched it."""

from bot.live.services import Shared
from bot.notify import Notice
from bot.notify.outbox import notify
from scrapers.kaggle.data import read_record
from state.series import history
from state.tables import Reading


def report_replaced_data(shared: Shared, slug: str) -> None:
    """Notify the owner once if Kaggle's summary of the data is another than when it was fetched; the run goes on."""
    folder = shared.competition(slug)
    record = read_record(folder / "data.json")
    with shared.store.read() as session:
        readings = history(session, slug, "data")
    if record is None or len(readings) < 2:
        return
    earlier = [reading for reading in readings if reading.at <= record.fetched_at] or readings[:1]
    (files_before, bytes_before), (files, bytes) = _totals(earlier[-1]), _totals(readings[-1])
    # Not by extension: the site may leave one out.
    if (files_before, bytes_before) != (files, bytes):
        facts = {
            "folder": str(folder),
            "fetched_at": record.fetched_at,
            "files_before": files_before,
            "bytes_before": bytes_before,
            "files": files,
            "bytes": bytes,
        }
        with shared.store.write() as tx:
            notify(tx, Notice("problem.data", slug, facts))


def _totals(reading: Reading) -> tuple[int, int]:
    types = reading.data["types"].values()
    return sum(count for count, _ in types), sum(size for _, size in types)
