"""What an endpoint's error means: try again, give this prompt up, or stop the run."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from state.errors import ModelError, ModelMisconfigured, ModelRefused, ModelUnavailable

LONGEST_WAIT = 60.0
"""Seconds: a longer Retry-After is cut to this; the call's own time limit ends the waiting."""

_MOST_WORDS = 300
_RETRIED = frozenset({408, 409, 425, 429})
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_NO_CREDIT_WORDS = re.compile(r"exceeded your current quota|insufficient (credit|balance|quota|funds)", re.IGNORECASE)
_REFUSING = frozenset(
    {"context_length_exceeded", "content_filter", "content_policy_violation", "string_above_max_length"}
)
_REFUSING_WORDS = re.compile(
    r"context (length|window|size)|maximum (context|prompt)|too (long|large|many tokens)|reduce the length"
    r"|content[ _](filter|policy|management)|moderation|flagged|safety",
    re.IGNORECASE,
)
_SETTING_WORDS = re.compile(
    r"\bmodel\b.*\b(not found|not exist|unknown|invalid|not supported|unavailable)|(invalid|unknown|no such) model"
    r"|api[ _]key|unsupported parameter|unknown parameter|unrecognized",
    re.IGNORECASE | re.DOTALL,
)
_ADVICE = {
    401: "check OPENAI_API_KEY",
    402: "the account has no credit left: add some or use another endpoint",
    403: "this key may not use the model: check OPENAI_API_KEY and the model's name",
    404: "check the model's name and OPENAI_BASE_URL (it usually ends in /v1)",
}


def classify(status: int, body: object, *, model: str) -> ModelError:
    """Return the error that an answer with this HTTP status stands for.

    Args:
        status: the HTTP status, 300 or more (or the code inside an error that came with status 200).
        body: the decoded JSON body, or its text.
        model: the model's name, for the sentence.
    """
    code, words = _code(body), endpoint_words(body)
    said = f"the endpoint answered {status} for {model}: {words}"
    if code & _NO_CREDIT or (status == 429 and _NO_CREDIT_WORDS.search(words)):
        return ModelMisconfigured(f"{said}; {_ADVICE[402]}")
    if status in _RETRIED or status >= 500:
        return ModelUnavailable(said)
    if status in (400, 403, 413, 422) and (status == 413 or code & _REFUSING or _REFUSING_WORDS.search(words)):
        return ModelRefused(said)
    if status in (400, 422) and not (code & {"model_not_found", "invalid_model"} or _SETTING_WORDS.search(words)):
        return ModelRefused(said)
    return ModelMisconfigured(f"{said}; {_ADVICE.get(status, 'check OPENAI_BASE_URL and the name of the model')}")


def endpoint_words(body: object) -> str:
    """Return the endpoint's own message, on one line and bounded."""
    error = body.get("error", body) if isinstance(body, dict) else body
    message = error.get("message", error) if isinstance(error, dict) else error
    return " ".join(str(message or "no message").split())[:_MOST_WORDS]


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the endpoint asks to wait, at most `LONGEST_WAIT`; None where it does not say.

    Args:
        headers: of the answer, case-insensitive: `retry-after-ms`, `retry-after` in seconds or as an HTTP date.
        now: aware; what a date is compared with.
    """
    seconds = _number(headers.get("retry-after-ms"), 0.001)
    asked = headers.get("retry-after")
    if seconds is None:
        seconds = _number(asked, 1.0)
    if seconds is None and asked is not None:
        try:
            date = parsedate_to_datetime(asked)
        except ValueError:
            return None
        seconds = ((date if date.tzinfo else date.replace(tzinfo=UTC)) - now).total_seconds()
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_WAIT)


def _number(text: str | None, unit: float) -> float | None:
    if text is None or not re.fullmatch(r"\s*\d+(\.\d+)?\s*", text):
        return None
    return float(text) * unit


def _code(body: object) -> set[str]:
    """Return the codes that the body carries; servers put them in `code` or in `type`."""
    error: Any = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return set()
    return {str(error[key]) for key in ("code", "type") if error.get(key) is not None}
