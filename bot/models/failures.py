"""The meaning of an endpoint's error: try again, give this prompt up, or stop the run."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from scrapers.http.responses import retry_after
from state.errors import EndpointBusy, ModelError, ModelMisconfigured, ModelRefused, ModelUnavailable

MOST_BYTES = 16 * 1024 * 1024
"""Most bytes of an unpacked body; the longest answers of today's models are a few hundred kilobytes."""
MOST_OF_ERROR = 256 * 1024
"""Most bytes of an error's body."""
MOST_OF_STREAM = 64 * 1024 * 1024
"""Most bytes of a streamed answer, in which each token is an event of some 300 bytes."""
MOST_OF_EVENT = 4 * 1024 * 1024
STREAM = "text/event-stream"
"""The content type of a streamed answer."""
_MOST_WORDS = 300
_MOST_READ = 4_000
"""Characters of an error that are examined."""
_BUSY = frozenset({408, 409, 424, 425, 429, 498, 503, 529})
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "1113"})
_NO_CREDIT_WORDS = re.compile(
    r"exceeded your current quota|insufficient (credit|balance|quota|funds)|credit balance is too low"
    r"|(no|out of|used all) (available |remaining )?credits?\b|(spend|spending|usage) limit"
    r"|budget has been exceeded|over budget|credits are depleted",
    re.IGNORECASE,
)
_PASSING_WORDS = re.compile(r"(retry|try again) in \d", re.IGNORECASE)
"""Signs of a quota per minute or day: Gemini's message for it otherwise reads like OpenAI's for an empty account."""
_BUSY_WORDS = re.compile(r"overloaded|throttl|too many requests|rate.?limit|over capacity", re.IGNORECASE)
_STATUS_WORDS = {
    404: re.compile("unexpected endpoint", re.IGNORECASE),  # LM Studio's, for an address without /v1
    401: re.compile(r"authenticat|unauthorized|login fail|\b(api|secret|access)[ _-]?key", re.IGNORECASE),
    429: _BUSY_WORDS,
}
_WRONG = frozenset({"model_not_found", "model_not_available", "invalid_model", "invalid_api_key", "401"})
_REFUSING = frozenset(
    {"context_length_exceeded", "content_filter", "content_policy_violation", "string_above_max_length"}
)
_REFUSING_WORDS = re.compile(
    r"context (length|window|size)|maximum (context|prompt)|too (long|large|many tokens)|reduce the length"
    r"|content[ _](filter|policy|management)|moderation|flagged|safety",
    re.IGNORECASE,
)
_SETTING_WORDS = re.compile(
    r"no models? loaded|model unloaded|\bmodel\b.*\b(not found|not exist|unknown|invalid|not supported|unavailable)"
    r"|(valid|unknown|no such) model|model names|decommissioned|no longer (supported|available)|api[ _]key|good standing"
    r"|(country|location|region)\b.*\bnot supported|unsupported parameter|unknown parameter|unrecognized|(chat|jinja) template"
    r"|on-demand throughput|has been (restricted|disabled)|terms acceptance",
    re.IGNORECASE | re.DOTALL,
)
_WAIT = re.compile(
    r"(?:try again|retry\w*|wait|available|resets?|estimated_time)\W{1,9}(?:(?:in|after|for)\W{1,3}(?:about )?)?"
    r"((?<!-)(?:\d+(?:\.\d+)?\s?(?:ms|[hms])[a-z]*\s?){1,3}|(?<!-)\d+(?:\.\d+)?(?=[,}]))",
    re.IGNORECASE,
)
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s?(ms|[hms]|)", re.IGNORECASE)
_SECONDS = {"": 1, "ms": 0.001, "s": 1, "m": 60, "h": 3600}
_FORM = frozenset({400, 404, 405, 406, 415, 422, 500, 501})
"""Statuses with which endpoints refuse the form of a request; llama.cpp and others answer some of it with 500."""
_REFUSING_STREAMS = re.compile(r"support|cannot|can't|not (allowed|implemented|available)", re.IGNORECASE)
"""What such a refusal with a server's error says: a stream that only broke must not end streaming for good."""
_SUBJECT_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "streams": re.compile(r"\bstream(ing|ed|s)?\b|\bstream_options\b|include_usage", re.IGNORECASE),
    # The last ones are fields that some endpoints require with each call; a conversation of texts has none.
    "tools": re.compile(
        r"\btools?\b|\btool[ _-]?(use|calls?|choice)|\bfunctions?\b|\bfunction[ _-]?call|grammar|reasoning_content"
        r"|thought_signature",
        re.IGNORECASE,
    ),
    "high limits": re.compile(
        r"too (large|high|many)|at most|maximum|valid range|less than or equal|greater than|exceed", re.IGNORECASE
    ),
}
_NO_CREDIT_ADVICE = "the account is out of credit: add some, or use another endpoint"
_TAGS = re.compile(r"<(script|style|head)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_TITLE = re.compile(r"<title>(.*?)</title>", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Names:
    """The names under which an endpoint's key and address are set, for advice in errors."""

    key: str = "OPENAI_API_KEY"
    address: str = "OPENAI_BASE_URL"

    def advice(self, status: int) -> str:
        """Return what to check after an answer with this HTTP status."""
        return {
            401: f"check {self.key}",
            402: _NO_CREDIT_ADVICE,
            403: f"this key may not use the model: check {self.key} and the model's name",
            404: f"check the model's name and {self.address} (it usually ends in /v1)",
        }.get(status, f"check {self.address} and the model's name")


FIRST_ENDPOINT = Names()


def classify(status: int, body: object, *, model: str, names: Names = FIRST_ENDPOINT) -> ModelError:
    """Return the error that an answer with this HTTP status, or code, means; `body` is decoded JSON, or text."""
    code, words = _code(body), _words(body)
    message = f"the endpoint returned status {status} for {model}: {words[:_MOST_WORDS]}"
    is_lack = _NO_CREDIT_WORDS.search(words) and not _PASSING_WORDS.search(words)
    if code & _NO_CREDIT or (status in (400, 403, 429) and is_lack):
        return ModelMisconfigured(f"{message}; {_NO_CREDIT_ADVICE}")
    if code & _WRONG or "requires more system memory" in words:  # Ollama's, of a model that will never fit
        return ModelMisconfigured(f"{message}; {names.advice(status)}")
    if status in _BUSY or (status in (400, 500, 502) and _BUSY_WORDS.search(words)):
        return EndpointBusy(message)
    if status >= 500 or "model has crashed" in words:  # LM Studio's, with status 400
        return ModelUnavailable(message)
    if status in (400, 403, 413, 422) and (status == 413 or code & _REFUSING or _REFUSING_WORDS.search(words)):
        return ModelRefused(message)
    if status in (400, 422) and not _SETTING_WORDS.search(words):
        return ModelRefused(message)
    return ModelMisconfigured(f"{message}; {names.advice(status)}")


def status_in_words(words: str) -> int:
    """Return the HTTP status that an error means which came without one; 502, a failure of the server, if none is clear."""
    return next((status for status, form in _STATUS_WORDS.items() if form.search(words)), 502)


def is_about(subject: Literal["streams", "tools", "high limits"], status: int, body: object) -> bool:
    """Return whether an error refuses a part of the request's form, so that another form is worth a try."""
    words = endpoint_words(body)
    is_failure = subject == "streams" and status >= 500 and not _REFUSING_STREAMS.search(words)
    return status in _FORM and bool(_SUBJECT_PATTERNS[subject].search(words)) and not is_failure


def requested_wait(headers: Mapping[str, str], body: object, now: datetime) -> float | None:
    """Return the seconds to wait that an endpoint names in a header or in words such as `1m2.5s`; None: it names none."""
    if re.fullmatch(r"\d{1,9}(\.\d+)?", milliseconds := headers.get("retry-after-ms", "").strip()):
        return float(milliseconds) / 1000
    if (seconds := retry_after(headers.get("retry-after"), now)) is not None:
        return seconds
    wait_match = _WAIT.search(f"retry after {headers.get('retry-after')}, {str(body)[:_MOST_READ]}")
    return (
        sum(float(n) * _SECONDS[unit.lower()] for n, unit in _DURATION.findall(wait_match[1])) if wait_match else None
    )


def endpoint_words(body: object) -> str:
    """Return the endpoint's own message, on one line and bounded; for an HTML page, its title or else its text."""
    return _words(body)[:_MOST_WORDS]


def _words(body: object) -> str:
    error = _error(body)
    message = error.get("message", error) if isinstance(error, dict) else error
    metadata = error.get("metadata") if isinstance(error, dict) else None
    if isinstance(metadata, dict) and (raw := metadata.get("raw")):
        message = f"{message}: {raw}"  # OpenRouter's, with what its provider said
    text = str(message or "")[:_MOST_READ]
    if text.lstrip().startswith("<"):
        title = _TITLE.search(text)
        text = title[1] if title else _TAGS.sub(" ", text)
    return " ".join(text.split()) or "no message"


def _error(body: object) -> object:
    """Return the error inside a body; Gemini sends it in a list of one."""
    if isinstance(body, list) and body:
        body = body[0]
    return body.get("error", body) if isinstance(body, dict) else body


def _code(body: object) -> set[str]:
    """Return the body's error codes; servers put them in `code` or in `type`."""
    error: Any = _error(body)
    if not isinstance(error, dict):
        return set()
    return {str(error[key]) for key in ("code", "type") if error.get(key) is not None}
