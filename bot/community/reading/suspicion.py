"""Signs of prompt injection in posts: hidden characters or text, imitated messages, the plainest orders.

It is a label for people and for the report, and no wall: an order can be worded so that nothing here finds it. The model that
reads posts names what else it finds. The form of its answers, and the sandbox, bound what a post can do.
"""

import re
import unicodedata

_LONGEST = 200_000
"""Characters that are searched: as much as is stored of a post."""
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e01ef]"
)
# A few are usual: joiners and selectors in emoji and in scripts, and marks of web pages.
_HIDDEN = re.compile(rf"{_INVISIBLE.pattern}{{4,}}|[\u202d\u202e]|(?:\w{_INVISIBLE.pattern}){{6,}}")
_KINDS = {
    "hides text": r"<(?:a|b|div|em|font|h\d|i|li|p|small|span|strong|td)\s(?![^<>]*background)[^<>]{0,200}(?:display\s?:\s?none"
    r"|visibility\s?:\s?hidden|font-size\s?:\s?0|opacity\s?:\s?0\b|(?<!-)color\s?[:=]\s?[\"']?(?:white|#fff(?:fff)?)\b)",
    "imitates a message from a system, a tool or an assistant": r"(?<![\"'\w])<\|?(?:im_start|im_end|system|assistant|eot_id)\|?>"
    r"|</(?:system|assistant|user|instructions?|answer|post|kernel|message)\b[^>\n]{0,40}>|</?tool_\w{1,20}>",
    "gives instructions to automated readers": r"\b(?:ignore|disregard|forget)\b[^.;]{0,20}\b(?:previous|prior|your)\b"
    r"[^.]{0,20}\b(?:instructions?|prompts?)\b",
}


def steering(title: str, text: str) -> str | None:
    """Return the signs of prompt injection in a post or kernel, None if there are none.

    The reasons are fixed words, without a word of the post: prompts and reports may show them as they are.
    """
    full_text = f"{title}\n{text}"[:_LONGEST]
    reasons = ["hides characters"] if _HIDDEN.search(full_text) else []
    visible = unicodedata.normalize("NFKC", _INVISIBLE.sub("", full_text))
    reasons += [reason for reason, pattern in _KINDS.items() if re.search(pattern, visible, re.IGNORECASE)]
    return "; ".join(reasons) or None
