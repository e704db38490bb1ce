"""Polling of our own submissions: the state of each at the site, and the rest of the quota."""

from datetime import datetime, timedelta
from typing import Any

from scrapers.kaggle.polling.watch import Mark, PollContext
from scrapers.kaggle.submissions import KaggleStatus, KaggleSubmission, Submissions
from state.series import last_readings, take_reading
from state.tables import Reading

_FINAL_STATUSES = (KaggleStatus.COMPLETE.name, KaggleStatus.ERROR.name)


class SentMark(Mark):
    """When all of them, including old ones, were last read."""

    all_at: datetime | None = None


async def poll_submissions(watch: PollContext) -> None:
    """Read the quota, and the latest submissions back to one that is final and unchanged; once a day all of them.

    Errors as of `KaggleClient`.
    """
    site, now = Submissions(watch.client, watch.competition), watch.now()
    mark = watch.mark("submissions", SentMark)
    day = timedelta(seconds=watch.settings.all_submissions)
    is_full = mark.all_at is None or watch.all_since is not None or now - mark.all_at >= day
    with watch.store.read() as session:
        readings = {name: row for (_, name), row in last_readings(session, watch.competition, "submission").items()}
    pending = {ref for ref, row in readings.items() if row.data.get("status") not in _FINAL_STATUSES}
    files: list[KaggleSubmission] = []
    async for file in site.all():
        if file.ref <= 0:
            continue
        files.append(file)
        if not is_full and _settled(file, readings) and not pending - {str(file.ref) for file in files}:
            break
    limits = await site.limits()
    slug = watch.competition
    with watch.write() as tx:
        for file in files:
            fields = _fields(file, readings.get(str(file.ref)))
            if take_reading(tx, slug, "submission", str(file.ref), fields, served_at=file.served_at):
                watch.news.add("submission changed", str(file.ref))
        quota = limits.model_dump(mode="json")
        if take_reading(tx, slug, "limits", "", quota, served_at=limits.served_at):
            watch.news.add("limits changed", slug)
        watch.move(tx, "submissions", SentMark(all_at=now) if is_full else mark, limits.served_at)


def _fields(file: KaggleSubmission, row: Reading | None) -> dict[str, Any]:
    """Return what is known of a submission: what an answer leaves out, or shows as null, stays as it was last shown."""
    names = {
        *("date", "public_score", "private_score", "file_name", "description"),
        *("error_description", "submitted_by", "team_name"),
    }
    fields = {"status": file.status.name, **file.model_dump(mode="json", include=names)}
    before = row.data if row is not None else {}
    # One that is scored again is pending meanwhile: its score holds until there is another one.
    if fields["status"] not in _FINAL_STATUSES and before.get("status") in _FINAL_STATUSES:
        fields["status"] = None
    return {name: value or before.get(name, value) for name, value in fields.items()}


def _settled(file: KaggleSubmission, readings: dict[str, Reading]) -> bool:
    """Return whether a submission is final and stored as it is: then so are those before it."""
    row = readings.get(str(file.ref))
    return row is not None and file.status.name in _FINAL_STATUSES and row.data == _fields(file, row)
