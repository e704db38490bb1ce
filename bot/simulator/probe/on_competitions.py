"""Points on a competition: its fields, pages, files, leaderboard, and one's own submissions."""

import re
from itertools import pairwise
from urllib.parse import urlsplit

from bot.simulator.probe.asking import BOARD_ROWS
from bot.simulator.probe.points import Finding, Point, Seen, told, unsure
from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.competitions import Competition, DataFiles, DataSummary, Pages, Standing
from scrapers.kaggle.submissions import Limits, SentFiles

_TAG = re.compile(r"<(?:p|div|h[1-6]|ul|ol|table|br|a|strong|em)\b", re.IGNORECASE)


def _fields(seen: Seen) -> Finding:
    found = seen.read("competition", Competition)
    given = {
        "deadline": found.deadline,
        "enabledDate": found.enabled_date,
        "maxDailySubmissions": found.max_daily_submissions,
        "evaluationMetric": found.evaluation_metric,
    }
    absent = [name for name, value in given.items() if not value]
    return told(not absent, f"absent: {', '.join(absent)}" if absent else "all are there")


def _page_format(seen: Seen) -> Finding:
    found = seen.read("pages", Pages)
    if not found.pages:
        return unsure("there is no page")
    forms = sorted({one.mime_type or "no mimeType" for one in found.pages})
    wrong = [
        one.name
        for one in found.pages
        if one.mime_type not in ("text/html", "text/markdown")
        or (one.mime_type == "text/html" and one.content and not _TAG.search(one.content))
    ]
    return told(not wrong, f"{', '.join(forms)}" + (f"; not so: {', '.join(wrong)}" if wrong else ""))


def _rules_page(seen: Seen) -> Finding:
    found = seen.read("pages", Pages)
    names = [one.name for one in found.pages]
    return told("rules" in names, f"pages: {', '.join(names) or 'none'}")


def _whole_list(seen: Seen) -> Finding:
    files, summary = seen.read("files", DataFiles), seen.read("data-summary", DataSummary)
    if files.next_page_token:
        return unsure("the list has more than one page")
    listed, size = len(files.files), sum(one.total_bytes for one in files.files)
    counted, bytes_ = sum(one.file_count for one in summary.types), sum(one.total_size for one in summary.types)
    saw = f"the list has {listed} files of {size:,} bytes, the summary {counted} of {bytes_:,}"
    return told((listed, size) == (counted, bytes_), saw)


def _download(seen: Seen) -> Finding:
    found = seen.exchange("download")
    if found is None or not found.answered:
        return seen.why_not("download")
    host = urlsplit(found.answer["location"]).hostname
    return told(found.status == 302, f"status {found.status}, storage at {host}")


def _board_size(seen: Seen) -> Finding:
    found, competition = seen.read("leaderboard", Standing), seen.read("competition", Competition)
    rows = len(found.submissions)
    if rows < BOARD_ROWS and competition.team_count <= rows:
        return unsure(f"there are only {rows} teams")
    return told(rows == BOARD_ROWS, f"{rows} rows, of {BOARD_ROWS} requested")


def _board_order(seen: Seen) -> Finding:
    found = seen.read("leaderboard", Standing)
    order = read_order([one.score for one in found.submissions])
    scores = ", ".join(one.score or "none" for one in found.submissions)
    if len({one.score for one in found.submissions}) < 2:
        return unsure(f"too few different scores: {scores or 'none'}")
    return told(order.direction is not None, f"scores in order: {scores}")


def _quota(seen: Seen) -> Finding:
    limits = seen.read("quota", Limits)
    if limits.known:
        return unsure(f"this team has a quota: {limits.num_today} sent today, {limits.num_allowed_now} allowed now")
    sent = seen.read("submissions", SentFiles)
    return told(not sent.submissions, f"all zeros, with {len(sent.submissions)} submissions sent")


def _allowed_now(seen: Seen) -> Finding:
    limits, competition = seen.read("quota", Limits), seen.read("competition", Competition)
    if not limits.known or not competition.max_daily_submissions:
        return unsure("no quota is stated")
    left = competition.max_daily_submissions - limits.num_today
    return told(
        limits.num_allowed_now == max(left, 0),
        f"{limits.num_today} sent today, {limits.num_allowed_now} allowed now, {competition.max_daily_submissions} a day",
    )


def _own_order(seen: Seen) -> Finding:
    found = seen.read("submissions", SentFiles)
    dates = [one.date for one in found.submissions if one.date is not None]
    if len(dates) < 2:
        return unsure(f"{len(dates)} submissions are listed")
    token = "a next page" if found.next_page_token else "no next page"
    return told(all(a >= b for a, b in pairwise(dates)), f"{len(dates)} listed, {token}")


def _own_text(seen: Seen) -> Finding:
    found = seen.read("submissions", SentFiles)
    if not found.submissions:
        return unsure("nothing was submitted yet")
    described = sum(bool(one.description) for one in found.submissions)
    return told(described > 0, f"{described} of {len(found.submissions)} have their description")


POINTS = (
    Point("fields", "A competition states its deadline, start, metric and daily limit.", _fields),
    Point("page-format", "A page's mimeType says whether it is HTML or Markdown.", _page_format),
    Point("rules-page", "One page is called `rules`: its changes stop submissions.", _rules_page),
    Point("file-list", "The list of files and the summary of the data agree.", _whole_list),
    Point(
        "download",
        "A download is answered with a redirect (`{url}` under 200 is understood too).",
        _download,
        "a probe after you have accepted the rules",
    ),
    Point("board-size", "The top of the leaderboard has as many rows as are requested.", _board_size),
    Point("board-order", "The leaderboard is best first, with scores that are numbers.", _board_order),
    Point(
        "new-team",
        "Limits of all zeros mean a user without a team, not a quota that is used up.",
        _quota,
        "a probe after you have accepted the rules and before the first submission",
    ),
    Point(
        "allowed-now",
        "`numAllowedNow` is the daily limit less what was sent today.",
        _allowed_now,
        "a probe after the first submission",
    ),
    Point("own-order", "Own submissions come latest first.", _own_order, "a probe after two submissions"),
    Point(
        "own-description",
        "Own submissions carry the description they were sent with, by which the bot finds them.",
        _own_text,
        "a probe after the first submission",
    ),
)
