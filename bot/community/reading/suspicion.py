"""Posts that look as if they try to steer their reader: hidden characters or text, imitated messages, the plainest order.

It is a label for people and for the report, and no wall: whoever wants to can word an order so that nothing here finds it. The
model that reads posts names what else it finds. What a post can do is bounded elsewhere: by the form of its reader's answers, and
by the sandbox.
"""

import re
import unicodedata

_LONGEST = 200_000
"""Characters that are read: as much as is stored of a post."""
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\U000e0000-\U000e01ef]"
)
# A few are usual: joiners and selectors in emoji and in scripts, marks that pages leave behind.
_HIDDEN = re.compile(rf"{_INVISIBLE.pattern}{{4,}}|[\u202d\u202e]|(?:\w{_INVISIBLE.pattern}){{6,}}")
_KINDS = {
    "hides text": r"<(?:a|b|div|em|font|h\d|i|li|p|small|span|strong|td)\s(?![^<>]*background)[^<>]{0,200}(?:display\s?:\s?none"
    r"|visibility\s?:\s?hidden|font-size\s?:\s?0|opacity\s?:\s?0\b|(?<!-)color\s?[:=]\s?[\"']?(?:white|#fff(?:fff)?)\b)",
    "imitates a message of a system, a tool or an assistant": r"(?<![\"'\w])<\|?(?:im_start|im_end|system|assistant|eot_id)\|?>"
    r"|</(?:system|assistant|user|instructions?|answer|post|kernel|message)\b[^>\n]{0,40}>|</?tool_\w{1,20}>",
    "gives orders to automated readers": r"\b(?:ignore|disregard|forget)\b[^.;]{0,20}\b(?:previous|prior|your)\b"
    r"[^.]{0,20}\b(?:instructions?|prompts?)\b",
}


def steering(title: str, text: str) -> str | None:
    """Return why a post or kernel looks as if it tried to steer its reader, None if it does not.

    The reasons are a few fixed words, without a word of the post, so that prompts and reports may show them as they are.
    """
    full_text = f"{title}\n{text}"[:_LONGEST]
    reasons = ["hides characters"] if _HIDDEN.search(full_text) else []
    visible = unicodedata.normalize("NFKC", _INVISIBLE.sub("", full_text))
    reasons += [reason for reason, pattern in _KINDS.items() if re.search(pattern, visible, re.IGNORECASE)]
    return "; ".join(reasons) or None
