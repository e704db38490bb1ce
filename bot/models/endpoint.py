"""Models behind any OpenAI-compatible endpoint: chat completions only, with retries, time-outs and errors by class."""

import asyncio
import secrets
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Self, TypeVar

from pydantic import SecretStr

from bot.models import CallLimits, Completion, Message, Prompt, Usage
from bot.models.chat import ChatClient, Unfinished
from bot.models.completion import completed, estimated_tokens
from bot.models.connection import EndpointConnection, Rejected
from bot.models.context import LEAST_ANSWER, LEAST_PROMPT, ContextRefusal, Window, answer_limit, shortened
from bot.models.failures import FIRST_ENDPOINT, Names, classify, endpoint_words, is_about, requested_wait
from bot.models.passing import PROBE, PassingClient, ProxiedPrompt
from bot.models.pricing import Pricing
from bot.models.reply import NotACompletion, Reply, read_reply
from bot.models.settings import ModelChoice, ModelSettings
from bot.models.tools import Tool, native_messages, tool_of
from state.clock import Clock
from state.errors import (
    BrokenOff,
    EmptyAnswer,
    EndpointBusy,
    EndpointSilent,
    ModelError,
    ModelMisconfigured,
    ModelRefused,
    ModelUnavailable,
    TruncatedAnswer,
)
from state.redaction import Redactor

AnswerT = TypeVar("AnswerT")

CUT_OFF = "your answer was too long and was cut off"
CUT_OFF_REASONING = "your reasoning was too long and your answer was cut off: think briefly, then answer"
_MOST_TRIES = 16
"""Requests until one has a form that the endpoint takes."""
_SHORTENED = (
    "the endpoint accepts at most {limit:,} tokens per request to {model}; longer prompts are cut in the middle"
)
_CUT_SILENTLY = (
    "the endpoint read {read:,} tokens of a prompt of about {sent:,} for {model}: it truncates prompts silently. Increase its "
    "context length (Ollama: num_ctx in the Modelfile, or OLLAMA_CONTEXT_LENGTH; llama.cpp: --ctx-size; LM Studio: in the "
    "model's settings)"
)
_FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds: a longer Retry-After is cut to this; the call's own time limit ends the waiting."""
_ONLY_THIS = "other requests succeed, so the endpoint rejects only this one"
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789,")
_LIMIT_NAMES = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}


@dataclass(frozen=True)
class Endpoint:
    """An endpoint: its address, keys and models, and the limits of its requests."""

    key: SecretStr
    model_for: Callable[[str], str]
    """Returns the model's name for a role."""
    base_url: str | None = None
    """None: OpenAI's own."""
    timeout: float = 300.0
    """Longest silence (seconds) of an answer under way, from one byte to the next."""
    max_tokens: int | None = None
    """Most tokens of one answer; not sent unless set here or by the call."""
    retries: int = 5
    """How often a failed request is sent again."""
    names: Names = FIRST_ENDPOINT
    """Names of the key and the address, for advice in errors."""
    other_keys: Mapping[str, SecretStr] = field(default_factory=dict)
    """Keys of other endpoints by name, which must not reach this one."""

    @classmethod
    def configured(cls, settings: ModelSettings, choice: ModelChoice, number: int = 0) -> Self:
        """Return an endpoint of the settings, for the chosen models: 0 is the first, n the n-th fallback.

        Raises UsageError: its key is not set, and no address that may work without one.
        """
        section = settings.section
        fallback = section.fallback[number - 1] if number else None
        first = fallback is None or fallback.base_url is None
        place = f"fallback {number} under [models] in bot.toml"
        key = FIRST_ENDPOINT.key if first else f"`key` of {place}"
        return cls(
            settings.key_at(number),
            settings.choice_at(choice, number).model_for,
            settings.base_url if fallback is None or fallback.base_url is None else fallback.base_url,
            section.timeout if fallback is None or fallback.timeout is None else fallback.timeout,
            section.max_tokens,
            section.retries if fallback is None or fallback.retries is None else fallback.retries,
            names=Names(
                fallback.key if fallback and fallback.key else key,
                FIRST_ENDPOINT.address if first else f"`base_url` of {place}",
            ),
        )


@dataclass
class _Question:
    """The messages to send, which may be shortened, and the prompt's tool."""

    messages: list[Message]
    tool: Tool | None

    def plain(self) -> dict[str, Any]:
        """Return the request's fields for plain text."""
        return {"messages": [asdict(message) for message in self.messages]}

    def native(self, tool: Tool) -> dict[str, Any]:
        """Return the request's fields for native tool calls."""
        return {"messages": native_messages(self.messages, tool), "tools": [tool.definition()]}

    @property
    def characters(self) -> int:
        """The length of all messages."""
        return sum(len(message.content) for message in self.messages)


@dataclass(frozen=True)
class Abilities:
    """What a model at an endpoint has shown."""

    streams: bool
    calls_tools: bool
    """Whether its last answer to a prompt with a tool held a native call of it."""
    context: int | None
    """Tokens of prompt and answer together; None: it has refused none for its length."""


class OpenAIModel:
    """A `Model`; belongs to one event loop, and is closed with `aclose`."""

    def __init__(
        self, endpoint: Endpoint, pricing: Pricing, clock: Clock, say: Callable[[str], None] = lambda line: None
    ) -> None:
        """Set the endpoint; `say` is told once of each way in which it keeps prompts from being read whole."""
        self._endpoint = endpoint
        self._say = say
        self._pricing = pricing
        self._clock = clock
        keys = {endpoint.names.key: endpoint.key, **endpoint.other_keys}
        self._redactor = Redactor({key.get_secret_value(): name for name, key in keys.items()})
        self._connection = EndpointConnection(endpoint.base_url, self._redactor)
        self._client = ChatClient(self._connection, endpoint.key, self._redactor)
        self._passing = PassingClient(self._connection, self._redactor)
        self._has_answered = False
        self._limit_name = "max_tokens"
        self._most_tokens: dict[str, int] = {}
        """Each model's token limit, if the endpoint has refused a higher one."""
        self._without_tools: set[str] = set()
        """Models for which the endpoint refused native tool calls, and answered without."""
        self._windows: defaultdict[str, Window] = defaultdict(Window)
        """What each model takes in one request."""
        self._called: dict[str, bool] = {}
        """Whether each model's last answer to a prompt with a tool held a native call."""
        self._said: set[str] = set()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connection.aclose()

    def estimate(self, role: str, usage: Usage) -> float | None:
        """Return the cost (USD) of tokens at the role's model; None: its price is unknown."""
        return self._pricing.cost(self._endpoint.model_for(role), usage)

    def abilities(self, role: str) -> Abilities:
        """Return what the role's model has shown since the start."""
        model = self._endpoint.model_for(role)
        return Abilities(self._client.streams(model), self._called.get(model, False), self._windows[model].limit)

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt; the errors are those of `Model`.

        All tries together take at most `limits.seconds`. After an empty answer, or one that broke off, the request is sent
        once more, and both are charged; if that brings nothing, EmptyAnswer or BrokenOff carries the cost. An answer that
        reached the token limit raises TruncatedAnswer, so that it is charged and continued; for a prompt with a tool it
        is returned unchanged. A third-party program's own request is passed on.
        """
        if isinstance(prompt, ProxiedPrompt):
            return await self._pass_on(prompt, prompt, role, limits)
        model = self._endpoint.model_for(role)
        place = f"the prompt {prompt.name}"
        messages = [Message(m.role, self._redactor.own(m.content, place)) for m in prompt.messages()]
        question, plain = _Question(messages, tool_of(prompt)), _Question([Message("user", PROBE)], None)
        deadline = asyncio.get_running_loop().time() + limits.seconds

        def asks(question: _Question) -> Callable[[], Awaitable[Reply]]:
            payload = self._payload(model, question, limits)

            async def ask() -> Reply:
                try:
                    async with asyncio.timeout_at(deadline):
                        return await self._with_or_without_tools(payload, question)
                except TimeoutError:
                    raise EndpointSilent(f"{model} did not answer within {limits.seconds:g} s") from None

            return ask

        ask = asks(question)
        try:
            reply = await self._of_two(ask, model, deadline)
        except (ModelMisconfigured, ModelUnavailable) as error:
            reply = await self._ask_again(ask, error, asks(plain), model, deadline)
        cost, cut = self._pricing.cost(model, reply.usage), reply.finish == "length"
        charged = Completion(None, reply.text, reply.usage, model, cost, cut)
        if cut and question.tool is None:
            unfinished = TruncatedAnswer(CUT_OFF_REASONING if reply.blank and reply.reasoned else CUT_OFF)
            # What is no answer is not continued.
            unfinished.reply = replace(charged, text="") if reply.blank else charged
            raise unfinished
        _ensure_answered(reply, charged)
        return completed(prompt, reply.text, usage=reply.usage, model=model, cost_usd=cost, cut=cut)

    async def _of_two(self, ask: Callable[[], Awaitable[Reply]], model: str, deadline: float) -> Reply:
        """Return the reply; if it is empty or broke off, the reply to a second request, with the tokens of both."""
        first = await self._reply(ask, model, deadline)
        task = asyncio.current_task()
        given_up = asyncio.get_running_loop().time() >= deadline or (task is not None and task.cancelling() > 0)
        if given_up or not (first.broken or _is_empty(first)):
            return first
        try:
            await self._clock.sleep(_wait(0, None) if first.broken else 0.0)
            second = await self._reply(ask, model, deadline)
        except ModelError:
            return first
        except asyncio.CancelledError:
            # The first one was paid for, and must be charged.
            return first if first.broken else replace(first, broken="the call ended before a second answer arrived")
        return replace(second, usage=first.usage + second.usage)

    async def _pass_on(
        self, prompt: Prompt[AnswerT], request: ProxiedPrompt, role: str, limits: CallLimits
    ) -> Completion[AnswerT]:
        """Pass on a third-party program's request; it is retried until part of an answer was passed back."""
        model = self._endpoint.model_for(role)
        deadline = asyncio.get_running_loop().time() + limits.seconds

        def asks(request: ProxiedPrompt) -> Callable[[], Awaitable[Reply]]:
            payload = request.body(model, self._max_tokens(model, limits))

            async def send() -> Reply:
                key, silence = self._endpoint.key, self._endpoint.timeout
                async with self._passing.send(request, payload, key, deadline, seconds=silence) as answer:
                    return await request.take(answer)

            return partial(self._within_limit, payload, None, send)

        ask = asks(request)
        try:
            reply = await self._reply(ask, model, deadline)
        except (ModelMisconfigured, ModelUnavailable) as error:
            reply = await self._ask_again(ask, error, asks(request.probe()), model, deadline)
        texts = [message.content for message in prompt.messages()]
        if not any("base64" in text for text in texts):  # a picture has more characters than its tokens tell
            self._look_for_cut(model, sum(map(len, texts)), reply)
        cost = self._pricing.cost(model, reply.usage)
        return completed(prompt, reply.text, usage=reply.usage, model=model, cost_usd=cost)

    async def _ask_again(
        self,
        ask: Callable[[], Awaitable[Reply]],
        error: ModelError,
        ask_plainly: Callable[[], Awaitable[Reply]],
        model: str,
        deadline: float,
    ) -> Reply:
        """Ask `ask_plainly` a plain question; if it is answered, repeat the failed request, and return the tokens of both.

        Some endpoints report a wrong setting, or that they are down, because of a request's content. The plain question has
        no untrusted text.

        Raises:
            ModelRefused: only this request fails; the cost of the plain question is charged.
            ModelError: the plain question failed too, or the failure names its own cause, such as a limit per minute.
        """
        if isinstance(error, (EndpointSilent, EndpointBusy)):
            raise error
        may_pass, usage = isinstance(error, ModelUnavailable), Usage()
        try:
            # A failure that may pass was retried already: one plain question is enough.
            usage = (await self._reply(ask_plainly, model, 0.0 if may_pass else deadline)).usage
        except ModelRefused:
            pass
        except ModelUnavailable as failed:
            raise (error if may_pass else ModelUnavailable(f"{error}; unconfirmed: {failed}")) from None
        except ModelError:
            raise error from None
        if may_pass:
            with suppress(ModelError):
                reply = await self._reply(ask, model, 0.0)
                return replace(reply, usage=reply.usage + usage)
        refusal = (EmptyAnswer if may_pass else ModelRefused)(f"{error}; {_ONLY_THIS}")
        refusal.reply = Completion(None, "", usage, model, self._pricing.cost(model, usage))
        raise refusal from None

    def _payload(self, model: str, question: _Question, limits: CallLimits) -> dict[str, Any]:
        tool = None if model in self._without_tools else question.tool
        request_fields = question.plain() if tool is None else question.native(tool)
        max_tokens = self._max_tokens(model, limits)
        return {"model": model, **request_fields} | ({self._limit_name: max_tokens} if max_tokens else {})

    def _max_tokens(self, model: str, limits: CallLimits) -> int | None:
        """Return the maximum number of tokens of a model's answer; None: it is not limited."""
        max_tokens = limits.max_tokens or self._endpoint.max_tokens
        return min(max_tokens, self._most_tokens.get(model, max_tokens)) if max_tokens else None

    async def _reply(self, ask: Callable[[], Awaitable[Reply]], model: str, deadline: float) -> Reply:
        """Send the request until there is an answer, no retry is left, or the next wait would pass the deadline."""
        for attempt in range(self._endpoint.retries + 1):
            error: ModelError
            retry_seconds: float | None = None
            try:
                reply = await ask()
                self._has_answered = True
                return reply
            except Rejected as answer:
                error = classify(answer.status, answer.body, model=model, names=self._endpoint.names)
                retry_seconds = requested_wait(answer.headers, answer.body, self._clock.now())
            except NotACompletion as page:
                # The address has answered before, so it is right: a gateway in front of it fails for now.
                error = ModelUnavailable(str(page)) if self._has_answered else page
            except ModelError as failed:
                error = failed
            if not isinstance(error, ModelUnavailable) or isinstance(error, EndpointSilent):
                raise error
            wait = _wait(attempt, retry_seconds)
            is_too_late = asyncio.get_running_loop().time() + wait >= deadline
            if is_too_late or attempt == self._endpoint.retries:
                raise type(error)(f"{error} (attempts: {attempt + 1})")
            await self._clock.sleep(wait)
        raise AssertionError("the last attempt returns or raises")

    async def _with_or_without_tools(self, payload: dict[str, Any], question: _Question) -> Reply:
        """Send the request; if tools are refused, again in plain text, and from then on if that is answered."""
        try:
            reply = await self._answer(payload, question)
        except Rejected as answer:
            if "tools" not in payload or not is_about("tools", answer.status, answer.body):
                raise
            payload.pop("tools")
            payload.update(question.plain())
            reply = await self._answer(payload, question)
        if question.tool is not None:
            self._called[payload["model"]] = reply.called
            if "tools" not in payload:
                self._without_tools.add(payload["model"])
        return reply

    async def _answer(self, payload: dict[str, Any], question: _Question) -> Reply:
        def read(body: bytes) -> Reply:
            names = self._endpoint.names
            return read_reply(body, question.messages, model=payload["model"], tool=question.tool, names=names)

        async def send() -> Reply:
            try:
                return read(await self._client.post(payload, seconds=self._endpoint.timeout))
            except Unfinished as part:
                reply = read(part.body)
                # Tokens that were reported last were counted before the rest came.
                got = max(reply.usage.completion_tokens, estimated_tokens(reply.text))
                return replace(reply, usage=replace(reply.usage, completion_tokens=got), broken=str(part))

        self._fit(payload, question, refused=False)
        reply = await self._within_limit(payload, question, send)
        self._look_for_cut(payload["model"], question.characters, reply)
        return reply

    async def _within_limit(
        self, payload: dict[str, Any], question: _Question | None, send: Callable[[], Awaitable[AnswerT]]
    ) -> AnswerT:
        """Send one request, again in another form while one is refused for its length or the name of its limit.

        `question` is what may be shortened; None: nothing may, and what its errors say of a context is not believed, as they may
        repeat its words. The limits of an answer alone count for later requests too, once one of them is answered.
        """
        renamed = lowered = False
        for _ in range(_MOST_TRIES):
            try:
                answer = await send()
            except Rejected as rejected:
                prompt_text = "" if question is None else "\n".join(m.content for m in question.messages)
                refusal = ContextRefusal.read(rejected.status, rejected.body, prompt_text)
                if refusal is not None and question is not None:
                    self._windows[payload["model"]].learn(refusal, question.characters)
                    if self._fit(payload, question, refused=True):
                        continue
                    raise
                name = next((n for n in _LIMIT_NAMES if n in payload), None)
                message = endpoint_words(rejected.body)
                of_limit = rejected.status in (400, 422) and any(limit in message for limit in _LIMIT_NAMES)
                if name is None or not (of_limit or refusal):
                    raise
                is_high = refusal or is_about("high limits", rejected.status, rejected.body)
                if is_high and payload[name] > LEAST_ANSWER:
                    # A prompt that leaves too little of the context says nothing of later answers.
                    lowered, payload[name] = refusal is None, answer_limit("" if refusal else message, payload[name])
                elif _LIMIT_NAMES[name] in message and not renamed:
                    renamed = True
                    payload[_LIMIT_NAMES[name]] = payload.pop(name)
                else:
                    raise
                continue
            name = next((n for n in _LIMIT_NAMES if n in payload), None)
            if name is not None and renamed:
                self._limit_name = name
            if name is not None and lowered:
                self._most_tokens[payload["model"]] = payload[name]
            return answer
        return await send()

    def _fit(self, payload: dict[str, Any], question: _Question, *, refused: bool) -> bool:
        """Shorten a request to what the model takes, its answer first; return whether it is shorter now."""
        model, name = payload["model"], next((n for n in _LIMIT_NAMES if n in payload), None)
        window, requested_tokens = self._windows[model], payload[name] if name else None
        sent_characters = question.characters
        answer, characters = window.room(sent_characters, requested_tokens, refused=refused)
        if characters is not None and window.tokens(characters) < LEAST_PROMPT:
            return False
        if name is not None and answer is not None:
            payload[name] = answer
        if characters is not None:
            question.messages = shortened(question.messages, characters)
            payload.update(question.native(question.tool) if question.tool and "tools" in payload else question.plain())
            self._say_once(_SHORTENED.format(limit=window.limit or 0, model=model))
        return answer is not None or characters is not None

    def _look_for_cut(self, model: str, sent_characters: int, reply: Reply) -> None:
        """Say so where an endpoint has read far less than the characters that were sent."""
        read = reply.usage.prompt_tokens
        if reply.broken is None and self._windows[model].is_cut(sent_characters, read):
            self._say_once(_CUT_SILENTLY.format(read=read, sent=sent_characters // 4, model=model))

    def _say_once(self, line: str) -> None:
        if (kind := line.partition(":")[0].translate(_WITHOUT_DIGITS)) not in self._said:
            self._said.add(kind)
            self._say(line)


def _wait(attempt: int, retry_seconds: float | None) -> float:
    """Return the seconds before the next try: those of Retry-After, or twice as long each time; with jitter."""
    share = secrets.SystemRandom().uniform(0.5, 1.0)
    if retry_seconds is not None:
        return min(retry_seconds, LONGEST_WAIT) + share * _FIRST_WAIT
    return share * _FIRST_WAIT * float(2**attempt)


def _is_empty(reply: Reply) -> bool:
    return reply.blank and not reply.refusal and reply.finish not in ("length", "content_filter")


def _ensure_answered(reply: Reply, charged: Completion[None]) -> None:
    """Raise BrokenOff or ModelRefused, with the charged reply, if the answer broke off, is withheld, or empty but not cut."""
    if reply.broken is not None:
        broken = BrokenOff(reply.broken)
        broken.reply = charged
        raise broken
    reason = None
    if reply.finish == "content_filter":
        reason = "its content filter blocked the answer"
    elif reply.refusal:
        reason = f"it refused: {endpoint_words(reply.refusal)}"
    elif reply.blank and not charged.cut:
        reason = "its answer contains only reasoning" if reply.reasoned else "its answer was empty"
    if reason is not None:
        kind = EmptyAnswer if _is_empty(reply) else ModelRefused
        refusal = kind(f"{charged.model} did not answer this prompt: {reason}")
        refusal.reply = charged
        raise refusal
