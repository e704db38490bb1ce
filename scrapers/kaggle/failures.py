"""Kaggle's error answers, translated into our error classes with Kaggle's own words."""

import re
from typing import Any

from scrapers.http.responses import read_json
from scrapers.posts.cleaning import clean
from state.errors import (
    BotError,
    Forbidden,
    KaggleError,
    NotAuthenticated,
    NotebooksOnly,
    NotEntered,
    NotFound,
    QuotaReached,
    RateLimited,
    SiteUnavailable,
)

_MOST_WORDS = 500
_MOST_READ = 20_000
_FAILED = 400
_DAILY_LIMIT = re.compile(r"daily submission allowance|tomorrow UTC", re.IGNORECASE)
_NOTEBOOKS = re.compile(r"only accepts submissions from notebooks", re.IGNORECASE)
_DENIED = re.compile(r"permission '[\w.]+' was denied|accept (?:this|the) competition's rules", re.IGNORECASE)
_UNKNOWN_TOKEN = re.compile(r"unauthenticated|unauthorized", re.IGNORECASE)
_LIMITED = re.compile(r"too many requests|resource_exhausted|maximum batch \w+ session count", re.IGNORECASE)


def code_and_words(body: str) -> tuple[int | None, str]:
    """Return the code and the words of an error, in either of Kaggle's two shapes, or as text or HTML.

    The code is None if the body holds no error.
    """
    try:
        content: Any = read_json(body)
    except ValueError:
        return None, _plain(body)
    if not isinstance(content, dict):
        return None, _plain(body)
    inner = content.get("error")
    if not isinstance(inner, dict):
        inner = content
    code, status = inner.get("code"), inner.get("status")
    words = _plain(str(inner.get("message") or (content.get("error") if inner is content else None) or ""))
    if isinstance(code, str) and code.isdecimal():
        code = int(code)
    if not isinstance(code, int) or isinstance(code, bool):
        return None, words or _plain(body)
    status_text = f"({status})" if status else ""
    return code, _plain(f"{words} {status_text}") if words or status_text else _plain(body)


def failure(status: int, body: str, *, method: str, subject: str, wait: float | None = None) -> BotError:
    """Return our error for an answer's status, or the code of an error that came with status 200.

    `wait` is that of the header Retry-After, in seconds.
    """
    code, words = code_and_words(body)
    if code is not None and 400 <= code < 600:  # others are numbers of gRPC's
        status = code
    subject_text = f" for {subject}" if subject else ""
    sentence = f"Kaggle answered {method}{subject_text} with status {status}: {words or 'no message'}"
    error = _classified(status, words, sentence, subject or "this")
    if isinstance(error, KaggleError):
        error.status, error.body = status, body[:_MOST_READ]
    if isinstance(error, RateLimited):
        error.wait = wait or 0.0
    return error


def _classified(status: int, words: str, sentence: str, subject: str) -> BotError:
    if status == 429 or (status >= _FAILED and _LIMITED.search(words)):
        return RateLimited(sentence)
    if status == 401 or (status == 403 and _UNKNOWN_TOKEN.search(words)):
        return NotAuthenticated(f"{sentence}; give the bot a new token (kaggle.com/settings/api)")
    if _DENIED.search(words):
        return NotEntered(f"{sentence}; if {subject} is a competition, enter it and accept its rules on the website")
    if status == 403:
        return Forbidden(sentence)
    if status == 404:
        return NotFound(sentence)
    if _NOTEBOOKS.search(words):
        return NotebooksOnly(sentence)
    if _DAILY_LIMIT.search(words):
        return QuotaReached(sentence)
    if 400 <= status < 500 and status not in (408, 425):
        return KaggleError(sentence)
    return SiteUnavailable(sentence)


def _plain(text: str) -> str:
    """Return words as one short line, without markup."""
    text = text[:_MOST_READ]
    if "<" in text and ">" in text:
        # Imported here, as it takes a while, and an error is rarely a page.
        from bs4 import BeautifulSoup

        soup = BeautifulSoup(text, "html.parser")
        title = soup.title.get_text(" ") if soup.title else ""
        text = title or soup.get_text(" ")
    return " ".join(clean(text).split())[:_MOST_WORDS]
