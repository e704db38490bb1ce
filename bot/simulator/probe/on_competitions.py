"""Points on a competition: its fields, pages, files, leaderboard, and one's own submissions."""

import re
from itertools import pairwise
from urllib.parse import urlsplit

from bot.simulator.probe.points import Point, ProbeAnswers, ProbeFinding, finding, unsure
from bot.simulator.probe.probe_requests import BOARD_ROWS
from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.competitions import DataFiles, DataSummary, KaggleCompetition, LeaderboardTop, Pages
from scrapers.kaggle.submissions import SentFiles, SubmissionQuota

_TAG = re.compile(r"<(?:p|div|h[1-6]|ul|ol|table|br|a|strong|em)\b", re.IGNORECASE)


def _fields(answers: ProbeAnswers) -> ProbeFinding:
    competition = answers.read("competition", KaggleCompetition)
    values = {
        "deadline": competition.deadline,
        "enabledDate": competition.enabled_date,
        "maxDailySubmissions": competition.max_daily_submissions,
        "evaluationMetric": competition.evaluation_metric,
    }
    absent = [name for name, value in values.items() if not value]
    return finding(not absent, f"missing: {', '.join(absent)}" if absent else "all present")


def _page_format(answers: ProbeAnswers) -> ProbeFinding:
    pages = answers.read("pages", Pages)
    if not pages.pages:
        return unsure("no pages")
    forms = sorted({p.mime_type or "no mimeType" for p in pages.pages})
    wrong = [
        page.name
        for page in pages.pages
        if page.mime_type not in ("text/html", "text/markdown")
        or (page.mime_type == "text/html" and page.content and not _TAG.search(page.content))
    ]
    return finding(not wrong, f"{', '.join(forms)}" + (f"; wrong for: {', '.join(wrong)}" if wrong else ""))


def _rules_page(answers: ProbeAnswers) -> ProbeFinding:
    pages = answers.read("pages", Pages)
    names = [p.name for p in pages.pages]
    return finding("rules" in names, f"pages: {', '.join(names) or 'none'}")


def _whole_list(answers: ProbeAnswers) -> ProbeFinding:
    files, summary = answers.read("files", DataFiles), answers.read("data-summary", DataSummary)
    if files.next_page_token:
        return unsure("the file list has more than one page")
    file_count, size = len(files.files), sum(f.total_bytes for f in files.files)
    summary_count, bytes_ = sum(t.file_count for t in summary.types), sum(t.total_size for t in summary.types)
    observation = f"list: {file_count} files, {size:,} bytes; summary: {summary_count} files, {bytes_:,} bytes"
    return finding((file_count, size) == (summary_count, bytes_), observation)


def _download(answers: ProbeAnswers) -> ProbeFinding:
    exchange = answers.exchange("download")
    if exchange is None or not exchange.answered:
        return answers.why_not("download")
    host = urlsplit(exchange.answer["location"]).hostname
    return finding(exchange.status == 302, f"status {exchange.status}, storage at {host}")


def _board_size(answers: ProbeAnswers) -> ProbeFinding:
    board, competition = answers.read("leaderboard", LeaderboardTop), answers.read("competition", KaggleCompetition)
    rows = len(board.submissions)
    if rows < BOARD_ROWS and competition.team_count <= rows:
        return unsure(f"there are only {rows} teams")
    return finding(rows == BOARD_ROWS, f"{rows} of {BOARD_ROWS} requested rows")


def _board_order(answers: ProbeAnswers) -> ProbeFinding:
    board = answers.read("leaderboard", LeaderboardTop)
    order = read_order([s.score for s in board.submissions])
    scores = ", ".join(s.score or "none" for s in board.submissions)
    if len({s.score for s in board.submissions}) < 2:
        return unsure(f"too few distinct scores: {scores or 'none'}")
    return finding(order.direction is not None, f"scores in order: {scores}")


def _quota(answers: ProbeAnswers) -> ProbeFinding:
    limits = answers.read("quota", SubmissionQuota)
    if limits.known:
        return unsure(f"this team has a quota: {limits.num_today} submitted today, {limits.num_allowed_now} left")
    submissions = answers.read("submissions", SentFiles)
    return finding(not submissions.submissions, f"all limits are zero; {len(submissions.submissions)} submissions")


def _allowed_now(answers: ProbeAnswers) -> ProbeFinding:
    limits, competition = answers.read("quota", SubmissionQuota), answers.read("competition", KaggleCompetition)
    if not limits.known or not competition.max_daily_submissions:
        return unsure("Kaggle reports no quota")
    remaining = competition.max_daily_submissions - limits.num_today
    return finding(
        limits.num_allowed_now == max(remaining, 0),
        f"{limits.num_today} submitted today, {limits.num_allowed_now} left, {competition.max_daily_submissions} per day",
    )


def _own_order(answers: ProbeAnswers) -> ProbeFinding:
    page = answers.read("submissions", SentFiles)
    dates = [s.date for s in page.submissions if s.date is not None]
    if len(dates) < 2:
        return unsure(f"{len(dates)} submissions are listed")
    token = "a next page" if page.next_page_token else "no next page"
    return finding(all(a >= b for a, b in pairwise(dates)), f"{len(dates)} listed, {token}")


def _own_text(answers: ProbeAnswers) -> ProbeFinding:
    page = answers.read("submissions", SentFiles)
    if not page.submissions:
        return unsure("no submission yet")
    count = sum(bool(s.description) for s in page.submissions)
    return finding(count > 0, f"{count} of {len(page.submissions)} submissions have a description")


POINTS = (
    Point("fields", "A competition has a deadline, a start, a metric and a daily limit.", _fields),
    Point("page-format", "A page's mimeType says whether it is HTML or Markdown.", _page_format),
    Point("rules-page", "One page is called `rules`; if it changes, the bot stops submitting.", _rules_page),
    Point("file-list", "The file list and the data summary agree.", _whole_list),
    Point(
        "download",
        "A download returns a redirect (the bot also accepts status 200 with a `url` field).",
        _download,
        "a probe after you have accepted the rules",
    ),
    Point("board-size", "The top of the leaderboard has as many rows as requested.", _board_size),
    Point("board-order", "The leaderboard is sorted from best to worst, and its scores are numbers.", _board_order),
    Point(
        "new-team",
        "All limits are zero while the user has no team, but not once the quota is used up.",
        _quota,
        "a probe after you have accepted the rules and before the first submission",
    ),
    Point(
        "allowed-now",
        "`numAllowedNow` is the daily limit minus today's submissions.",
        _allowed_now,
        "a probe after the first submission",
    ),
    Point("own-order", "Your submissions are listed newest first.", _own_order, "a probe after two submissions"),
    Point(
        "own-description",
        "Your submissions keep their descriptions, which the bot uses to find them.",
        _own_text,
        "a probe after the first submission",
    ),
)
