"""Texts that look like secrets: detected anywhere, never shown, each with the place where it belongs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from state.redaction import SecretPattern

MASK = "[a secret]"
_ANY_PLACE = "an environment variable, a systemd credential, or the file in which its program keeps it"
_MODEL = "its environment variable (OPENAI_API_KEY, or the fallback's), or the systemd credential with that name"
_LEGACY_PLACE = "the environment variables KAGGLE_USERNAME and KAGGLE_KEY, or ~/.kaggle/kaggle.json"
_KAGGLE = "the environment variable KAGGLE_API_TOKEN, the systemd credential with that name, or ~/.kaggle/access_token"
# Bounded, and starting only at the start of a word: a text of megabytes must not take quadratic time.
_SCHEME = r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,40}:(?://)?"

_LEGACY_KEY = re.compile(r"(?<![A-Za-z0-9])[0-9a-f]{32}(?![A-Za-z0-9])")
_PARAMETER = re.compile(_SCHEME + r"[^\s\"']{0,512}?[?&](?:pass(?:word)?|token|secret)=[^\s\"']+", re.IGNORECASE)
_KEY_HEAD = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")
_KINDS: tuple[tuple[str, str, re.Pattern[str], tuple[str, ...]], ...] = (
    ("a Kaggle token", _KAGGLE, re.compile(r"KGAT_[A-Za-z0-9_-]{4,}"), ("KGAT_",)),
    ("a legacy Kaggle key", _LEGACY_PLACE, _LEGACY_KEY, ()),
    (
        "a model's API key",
        _MODEL,
        re.compile(
            # With a digit: `sk-learn-contrib` and `sk-no-key-required` are not keys.
            r"(?<![A-Za-z0-9])(?:sk-(?=[A-Za-z_-]{0,40}[0-9])[A-Za-z0-9_-]{6,}|gsk_[A-Za-z0-9]{16,}|AIza[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{16,})"
        ),
        ("sk-", "gsk_", "AIza", "hf_"),
    ),
    (
        "a webhook's secret URL",
        _ANY_PLACE,
        re.compile(
            r"https?://(?:hooks\.slack(?:-gov)?\.com|(?:[a-z]+\.)?discord(?:app)?\.com/api/webhooks|"
            r"[a-z0-9.-]+\.webhook\.office\.com)/[^\s\"'<>]+",
            re.IGNORECASE,
        ),
        ("://",),
    ),
    (
        "a URL with a password",
        _ANY_PLACE,
        re.compile(_SCHEME + r"[^\s/:@\"']{0,256}:[^\s@\"'/]{1,256}@[^\s\"']*"),
        ("@",),
    ),
    ("a URL with a password", _ANY_PLACE, _PARAMETER, ("=",)),
    (
        "a token",
        _ANY_PLACE,
        re.compile(r"(?<![A-Za-z0-9])(?:xox[a-z]-|xapp-|gh[opsur]_|github_pat_|glpat-)[A-Za-z0-9_-]{8,}"),
        ("xox", "xapp-", "gh", "github_pat_", "glpat-"),
    ),
    ("a token", _ANY_PLACE, re.compile(r"(?:slack|tgram|discord|pover)://[^\s\"']{8,}"), ("://",)),
    (
        "a token",
        _ANY_PLACE,
        re.compile(r"(?<![A-Za-z0-9])(?:AKIA[A-Z0-9]{12,}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_.-]{10,})"),
        ("AKIA", "eyJ"),
    ),
    ("a private key", _ANY_PLACE, _KEY_HEAD, ("-----BEGIN",)),
)

SECRET_PATTERNS = (
    *(SecretPattern(p, hints) for _, _, p, hints in _KINDS if p not in (_LEGACY_KEY, _PARAMETER, _KEY_HEAD)),
    # The parameter alone, as searching for the address around it takes long in a long text without one.
    SecretPattern(re.compile(r"(?<=[?&])(?:pass(?:word)?|token|secret)=[^\s\"'&]+", re.IGNORECASE), ("?", "&")),
    SecretPattern(
        re.compile(_KEY_HEAD.pattern + r"[\s\S]{0,10000}?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"), ("-----BEGIN",)
    ),
)
"""Patterns of secrets in any text, without 32 hexadecimal digits, which are a secret only in a configuration."""

SECRET_NAME = re.compile(r"(?:^|[_-])(?:api_?key|key|token|secret|password|passwd|pass|webhook)s?$", re.IGNORECASE)
"""Names of keys that would hold a secret."""


@dataclass(frozen=True)
class Secret:
    """A secret in a text."""

    kind: str
    place: str
    """Where it belongs."""
    text: str = field(repr=False)


def find_secrets(text: str) -> Iterator[Secret]:
    """Yield the first secret of each kind in a text."""
    kinds = set()
    for kind, place, pattern, _ in _KINDS:
        if (match := pattern.search(text)) and kind not in kinds:
            kinds.add(kind)
            yield Secret(kind, place, match[0])


def masked(text: str) -> str:
    """Return the text with every secret in it replaced."""
    for _, _, pattern, _ in _KINDS:
        text = pattern.sub(MASK, text)
    return text
