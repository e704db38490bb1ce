"""How much an endpoint takes in one request: what refusals say of it, and prompts cut to it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from bot.models import Message
from bot.models.failures import endpoint_words
from scrapers.posts.cleaning import both_ends

LEAST_ANSWER = 1_000
"""Tokens of an answer below which the prompt is shortened instead; a quarter of a small context."""
LEAST_PROMPT = 256
"""Tokens below which no prompt is cut."""
_PER_TOKEN = 4.0
"""Characters of a token, until an endpoint has said how many there are."""
_MOST_PER_TOKEN = 7.0
"""Characters of a token, more than which no text of some length has."""
_SURELY_CUT, _COMPARED_FROM = 5.5, 8_000
"""Characters of a token below which nothing is taken for cut, and of a prompt from which on it is looked at."""
_NOTE = 50
"""Characters of the note on an omission from a message."""
_ECHO_WORDS = 5
"""Words in a row that an error shares with its prompt from which on it repeats it."""
_SHARE = 15 / 16
"""Of a context that is used, as tokens are estimated."""

_ABOUT_LENGTH = re.compile(
    r"context[ _-]?(length|window|size|limit)|exceed_context|maximum (\w+ )?(model|prompt|input|sequence) length|max_model_len"
    r"|\b(prompt|input|request|messages?|inputs)\b.{0,80}\b(too (long|large|big|many)|longer than|exceed(s|ing) the limit)"
    r"|\b(input|prompt|message|the) token(s|( number|s? length)?\b).{0,60}\bexceed|exceed max message tokens|session_len"
    r"|max tokens of \d+ exceeded|prompt sequence length|prompt length\b.{0,60}\bexceed|输入.{0,20}(过长|超)"
    r"|too many (input )?tokens|input[ _](token count|length|tokens exceed)|tokens to keep"
    r"|reduce the length|max_(new|total)_tokens|n_keep|sequence length \d|number of tokens allowed"
    r"|(tokens|max_tokens) must be at least 1, got -|`?inputs`? must have less than|max_seq_len|token limit|prompt exceeds",
    re.IGNORECASE | re.DOTALL,
)
"""OpenAI, vLLM, SGLang, llama.cpp, LM Studio, Ollama, OpenRouter, Anthropic, Gemini, Mistral, TGI, xAI."""
_ABOUT_ANSWER = re.compile(
    r"(?is)(?=.*\bmax_(?:completion_|new_|output_)?tokens\b)"
    r"(?!.*(\b(prompt|inputs?|messages?|request\w*)\b|max_model_len|got -|context[ _](length|window|size|limit)\b[^\d.]{0,40}\d))"
)
"""The limit of an answer alone."""
_ABOUT_RATES = re.compile(r"per (min|day|hour)|\b[TR]P[MD]\b|rate.?limit", re.IGNORECASE)
_BEYOND_RATES = re.compile(r"request too large\b.*\blimit \d+, requested \d", re.IGNORECASE | re.DOTALL)
_NEVER = frozenset({401, 402, 403, 404, 429})
_NUMBER = r"(\d[\d,]*\d)\b(?! bytes)"
_LIMITS = tuple(
    re.compile(form.replace("N", _NUMBER), re.IGNORECASE)
    for form in (
        r"(?:(?:n_ctx|max_seq_len|session_len)\W{1,3}|context length of \S+ is )N",
        r"(?:>|<=) ?N",
        r"exceeds? (?:(?! by |\. )[^\d]){0,60}?N",
        r"(?:supports? (?:up to )?|allowed \(|(?:less|fewer|greater) than )N",
        r"length should be \[\d+, ?N",
        r"N maximum context",
        r"(?:context|model)(?:'s)?(?: maximum)?(?: context)?[ _](?:length|len|size|window|limit)\b(?:(?! by )[^\d]){0,60}?N",
        r"sequence length is[^\d]{0,40}?N",
        r"(?:prompt|sequence) length[^\d]{0,40}?N",
        r"limit:? (?:of |(?:for this model )?is )?N",
        r"max(?:imum)?(?: size| number of tokens| tokens of)?(?: is)?:? N",
    )
)
_PROMPTS = tuple(
    re.compile(form.replace("N", _NUMBER), re.IGNORECASE)
    for form in (
        r"N (?:tokens )?in (?:the|your) (?:messages|prompt)",
        r"(?<!for )\bN (?:input tokens|of text input|tokens from the input)",
        r"(?:request|input|prompt|sequence|requested tokens|resulted in|count)(?: is| of| has| length| tokens)? \(?(?:length )?N",
        r"(?:n_keep|too long)\W{1,3}N(?![\d:])",
        r"limit: N \+",
        r"first N tokens",
        r"contains (?:at least )?N(?!\d| characters)",
        r"(?:given:|current length is|requested:|exceeded: requested|received) N",
        r"length N is greater",
        r"(?<!\+ )\bN > \d",
    )
)


@dataclass(frozen=True)
class ContextRefusal:
    """A request that does not fit, with the tokens that the endpoint names."""

    limit: int | None
    """Of prompt and answer together."""
    prompt: int | None

    @classmethod
    def read(cls, status: int, body: object, text_sent: str = "") -> Self | None:
        """Return what an error says of the context, but for what it repeats of the text sent; None: it is of something else."""
        words = _without_echo(endpoint_words(body).replace("(2013)", ""), text_sent)  # the number of MiniMax's error
        error = body.get("error", body) if isinstance(body, dict) else body
        fields: Mapping[str, Any] = error if isinstance(error, dict) else {}
        code = f"{fields.get('code')} {fields.get('type')}"
        # A request above the limit per minute never fits (OpenAI, Groq).
        of_rates = status in _NEVER or _ABOUT_RATES.search(f"{words} {code}")
        of_length = _ABOUT_LENGTH.search(f"{words} {code}") and not _ABOUT_ANSWER.match(words)
        if (of_rates and not _BEYOND_RATES.search(words)) or not of_length:
            return None
        limit, prompt = fields.get("n_ctx"), fields.get("n_prompt_tokens")  # llama.cpp's
        return cls(
            limit if isinstance(limit, int) else _first(_LIMITS, words),
            prompt if isinstance(prompt, int) else _first(_PROMPTS, words),
        )


def answer_limit(words: str, requested: int) -> int:
    """Return the most tokens of an answer that a refusal of so many names, or else half of them."""
    numbers = [int(number.replace(",", "")) for number in re.findall(r"(?<![\w.-])\d[\d,]*\d\b(?![.-]?\w)", words)]
    return max((n for n in numbers if LEAST_ANSWER <= n < requested), default=max(LEAST_ANSWER, requested // 2))


def _without_echo(words: str, text_sent: str) -> str:
    """Return an error's text without the runs of words that the text sent has, too: a stranger may have written them."""
    spans, sent_words = list(re.finditer(r"\w+", words)), " ".join(re.findall(r"\w+", text_sent.casefold()))
    for run in zip(*(spans[start:] for start in range(_ECHO_WORDS)), strict=False):
        if " ".join(span[0].casefold() for span in run) in sent_words:
            first, last = run[0].start(), run[-1].end()
            words = words[:first] + "\x00" * (last - first) + words[last:]
    return words.replace("\x00", " ")


def _first(forms: Sequence[re.Pattern[str]], words: str) -> int | None:
    first_match = next((match for form in forms if (match := form.search(words))), None)
    return None if first_match is None else int(first_match[1].replace(",", ""))


@dataclass
class Window:
    """What one model at one endpoint has shown to take."""

    limit: int | None = None
    """Tokens of prompt and answer together; None: it has refused none for its length."""
    per_token: float | None = None
    """Characters of a prompt's token; None: not known yet."""

    def learn(self, refusal: ContextRefusal, characters: int) -> None:
        """Learn from a refusal of a prompt with so many characters."""
        self.limit = refusal.limit or self.limit
        if refusal.prompt:
            # vLLM counts no further than it has to, and says "at least".
            self.per_token = min(self.per_token or _PER_TOKEN, max(1.0, characters / refusal.prompt))

    def tokens(self, characters: float) -> int:
        """Return the tokens that a prompt probably has."""
        return int(characters / (self.per_token or _PER_TOKEN))

    def room(self, characters: int, requested: int | None, *, refused: bool) -> tuple[int | None, int | None]:
        """Return the tokens to ask for, and the characters to cut the prompt to; None for what stays as it is.

        A shorter answer goes before a shorter prompt. `refused`: as it is it was refused, so that one of them becomes shorter.
        """
        prompt = self.tokens(characters)
        if self.limit is None:
            if not refused:
                return None, None
            if requested is not None and requested > LEAST_ANSWER:
                return max(LEAST_ANSWER, requested // 2), None
            self.limit = prompt
        usable = int(self.limit * _SHARE)
        min_tokens = min(requested or LEAST_ANSWER, LEAST_ANSWER, max(1, self.limit // 4))
        if requested is not None and requested > min_tokens:
            answer = min(requested, usable - prompt)
            answer = requested // 2 if refused and answer == requested else answer
            if answer >= min_tokens:
                return (None if answer == requested else answer), None
        if usable - min_tokens < prompt:
            return (None if requested is None else min_tokens), int(
                (usable - min_tokens) * (self.per_token or _PER_TOKEN)
            )
        if not refused:
            return None, None
        # Its tokens are shorter than they were taken for.
        self.per_token = 0.75 * (self.per_token or _PER_TOKEN)
        return (None if requested is None else min_tokens), int(0.75 * characters)

    def is_cut(self, characters: int, reported: int) -> bool:
        """Return whether an endpoint has read far less of a prompt than was sent, by the tokens that it reports."""
        if characters < _COMPARED_FROM or reported <= 0:
            return False
        ratio = characters / reported
        max_ratio = _MOST_PER_TOKEN if self.per_token is None else min(_MOST_PER_TOKEN, 2 * self.per_token)
        if ratio > max(max_ratio, _SURELY_CUT):
            return True
        self.per_token = max(1.0, ratio)
        return False


def shortened(messages: Sequence[Message], characters: int) -> list[Message]:
    """Return messages of so many characters in total: the longest ones lose their middle, all to the same length."""
    lengths = sorted(len(message.content) for message in messages)
    max_characters, remaining_characters = characters, characters
    for position, length in enumerate(lengths):
        max_characters = remaining_characters // (len(lengths) - position)
        if length > max_characters:
            break
        remaining_characters -= length
    return [
        replace(message, content=both_ends(message.content, max(0, max_characters - _NOTE))) for message in messages
    ]
