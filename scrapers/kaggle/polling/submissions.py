"""Polling of our own submissions: the state of each at the site, and the rest of the quota."""

from datetime import datetime, timedelta
from typing import Any

from scrapers.kaggle.polling.watch import Mark, Watch
from scrapers.kaggle.submissions import SentFile, Status, Submissions
from state.series import last_readings, take_reading
from state.tables import Reading

_ENDS = (Status.COMPLETE.name, Status.ERROR.name)


class SentMark(Mark):
    """When all of them, including old ones, were last read."""

    all_at: datetime | None = None


async def poll_submissions(watch: Watch) -> None:
    """Read the quota, and the latest submissions back to one that is final and unchanged; once a day all of them.

    Errors as of `KaggleClient`.
    """
    site, now = Submissions(watch.client, watch.competition), watch.now()
    mark = watch.mark("submissions", SentMark)
    every = mark.all_at is None or watch.all_since is not None or now - mark.all_at >= _day(watch)
    with watch.store.read() as session:
        known = {name: row for (_, name), row in last_readings(session, watch.competition, "submission").items()}
    found: list[SentFile] = []
    async for sent in site.all():
        if sent.ref <= 0:
            continue
        found.append(sent)
        if not every and _settled(sent, known) and not _pending(known) - {str(one.ref) for one in found}:
            break
    limits = await site.limits()
    here = watch.competition
    with watch.write() as tx:
        for sent in found:
            shown = _fields(sent, known.get(str(sent.ref)))
            if take_reading(tx, here, "submission", str(sent.ref), shown, served_at=sent.served_at):
                watch.news.add("submission changed", str(sent.ref))
        left = limits.model_dump(mode="json", include={"num_today", "num_total", "num_allowed_now", "limited_by_total"})
        if take_reading(tx, here, "limits", "", left, served_at=limits.served_at):
            watch.news.add("limits changed", here)
        watch.move(tx, "submissions", SentMark(all_at=now) if every else mark, limits.served_at)


def _day(watch: Watch) -> timedelta:
    return timedelta(seconds=watch.settings.all_submissions)


def _fields(sent: SentFile, row: Reading | None) -> dict[str, Any]:
    """Return what is known of a submission: what an answer leaves out, or shows as null, stays as it was last shown."""
    names = {
        *("date", "public_score", "private_score", "file_name", "description"),
        *("error_description", "submitted_by", "team_name"),
    }
    shown = {"status": sent.status.name, **sent.model_dump(mode="json", include=names)}
    before = row.data if row is not None else {}
    # One that is scored again is pending meanwhile: its score holds until there is another one.
    if shown["status"] not in _ENDS and before.get("status") in _ENDS:
        shown["status"] = None
    return {name: value or before.get(name, value) for name, value in shown.items()}


def _settled(sent: SentFile, known: dict[str, Reading]) -> bool:
    """Return whether a submission is final and stored as it is: then so are those before it."""
    row = known.get(str(sent.ref))
    return row is not None and sent.status.name in _ENDS and row.data == _fields(sent, row)


def _pending(known: dict[str, Reading]) -> set[str]:
    """Return those that were not final when they were last read."""
    return {ref for ref, row in known.items() if row.data.get("status") not in _ENDS}
