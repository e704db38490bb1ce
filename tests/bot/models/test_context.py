"""Requests that do not fit an endpoint's context: shortened, learned, and a prompt that was cut without a word."""

import pytest

from bot.models import CallLimits, Message
from bot.models.context import ContextRefusal, Window, shortened
from state.errors import ModelRefused
from tests.bot.models.parts import GOOD, Question, Turn, model_at
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, failure

OLD = "This model's maximum context length is 16384 tokens. However, you requested"
REFUSALS = [
    ("vllm-old", f"{OLD} 20500 tokens (500 in the messages, 20000 in the completion). Please reduce the length.", 16384, 500),
    ("vllm", f"{OLD} 20000 output tokens and your prompt contains at least 500 input tokens, for a total of", 16384, 500),
    ("vllm-max-tokens", "'max_tokens' or 'max_completion_tokens' is too large: 20000. This model's maximum context length is "
     "16384 tokens and your request has 500 input tokens (20000 > 16384 - 500).", 16384, 500),
    ("vllm-prompt", "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096, 5000),
    ("sglang", "The input (5000 tokens) is longer than the model's context length (4096 tokens).", 4096, 5000),
    ("llama.cpp", "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it", 4096, 5000),
    ("llama.cpp-old", "the request exceeds the available context size. try increasing the context size", None, None),
    ("lm-studio", "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context "
     "length of only 4096 tokens, which is not enough.", 4096, 5000),
    ("lm-studio-old", "The number of tokens to keep from the initial prompt is greater than the context length.", None, None),
    ("ollama", "prompt too long; exceeded max context length by 904 tokens", None, None),
    ("ollama-embedded", "the input length exceeds the context length", None, None),
    ("openai", "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.", 8192, 9000),
    ("openai-new", "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.", 272000,
     300000),
    ("openai-responses", "Your input exceeds the context window of this model. Please adjust your input.", None, None),
    ("openrouter", "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (120000 "
     "of text input, 20000 in the output). Please reduce the length of either one.", 131072, 120000),
    ("anthropic", "prompt is too long: 208310 tokens > 200000 maximum", 200000, 208310),
    ("anthropic-answer", "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
     200000, 188240),
    ("gemini", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576, 1200000),
    ("mistral", "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length", 32768,
     40000),
    ("tgi", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs`", 4096, 4000),
    ("llama-cpp-python", "Requested tokens (5000) exceed context window of 2048", 2048, 5000),
    ("azure", "This model's maximum context length is 8192 tokens, however you requested 9000 tokens (8000 in your prompt; 1000 "
     "for the completion).", 8192, 8000),
    ("vllm-characters", "This model's maximum context length is 4096 tokens. However, you requested 100 output tokens and your "
     "prompt contains 90000 characters (more than 65536 characters, the upper bound for 4096 input tokens).", 4096, None),
    ("vertex", "the input token count is 1200000 but model only supports up to 1048576.", 1048576, 1200000),
    ("cerebras", "Please reduce the length of the messages. Current length is 42328 while limit is 40000", 40000, 42328),
    ("dashscope", "InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]", 129024, None),
    ("minimax", "invalid params, context window exceeds limit (2013)", None, None),
    ("ai21", "Prompt contains 300000 tokens, exceeding the limit of 262144", 262144, 300000),
    ("copilot", "prompt token count of 140000 exceeds the limit of 128000", 128000, 140000),
    ("exllama", "Context length 5000 is greater than max_seq_len 4096.", 4096, 5000),
    ("transformers", "sequence length is longer than the maximum sequence length for this model (5000 > 4096)", 4096, 5000),
    ("openai-rates", "Request too large for gpt-x on tokens per min (TPM): Limit 30000, Requested 40000. The input or output "
     "tokens must be reduced", 30000, None),
    ("kimi", "Your request exceeded model token limit: 131072 (requested: 140000)", 131072, 140000),
    ("cohere", "too many tokens: the number of tokens in the prompt cannot exceed 128000 - received 140000.", 128000, 140000),
    ("xai", "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072, 537812),
    ("vllm-newest", "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only "
     "4096 tokens, resulting in a maximum input length of 3996 tokens.", 4096, 5000),
    ("fireworks", "The prompt is too long: 140000, model maximum context length: 131071", 131071, 140000),
    ("github", "Request body too large for gpt-4o model. Max size: 8000 tokens.", 8000, None),
    ("perplexity", "Requested input too long. Maximum number of tokens 16384.", 16384, None),
    ("databricks", "Input tokens (5000) plus max_tokens (1000) exceed the model limit 4096", 4096, 5000),
    ("watsonx", "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model", 8192, 9000),
    ("mlc", "The prompt tokens 5000 exceeds the context window size 4096", 4096, 5000),
    ("cloudflare", "AiError: Input prompt is too long: 5021: The estimated number of input and maximum output tokens (5000) "
     "exceeded this model context window limit (4096).", 4096, None),
    ("snowflake", "max tokens of 4096 exceeded", 4096, None),
    ("sambanova", "Requested generation length 1000 is not possible! The provided prompt is 4000 tokens long, so generating 1000 "
     "tokens requires a sequence length of 5000, but the maximum supported sequence length is just 4096!", 4096, 4000),
    ("mistral.rs", "Prompt sequence length is greater than 4096, perhaps consider using `truncate_sequence`?", 4096, None),
    ("lmdeploy", "The token number of the input message exceeds gen_config.session_len(4096)", 4096, None),
    ("volcengine", "Total tokens of image and text exceed max message tokens. Request id: 0217", None, None),
    ("lm-studio-cut", "Cannot truncate prompt with n_keep (5000) >= n_ctx (4096)", 4096, 5000),
    ("cohere-old", "too many tokens: size limit exceeded by 300. The limit for this model is 128000 tokens.", 128000, None),
    ("sambanova-old", "The maximum context length of Llama-3.1-8B is 4096. However, it will take 5000 tokens.", 4096, None),
    ("koboldcpp", "Prompt too long (5000 tokens), max 4096", 4096, 5000),
    ("tensorrt", "Prompt length (5000) should not exceed max_input_len (4096)", 4096, 5000),
    ("triton", "input sequence length 5000 exceeds the maximum 4096", 4096, 5000),
    ("novita", "max_total_tokens 5000 exceed the limit 4096", 4096, None),
    ("gemini-bytes", "Request payload size exceeds the limit: 20971520 bytes.", None, None),
    ("ollama-cloud", "context length exceeded: requested 140000 tokens, model supports 131072", 131072, 140000),
    ("zhipu", "输入内容过长，超过模型限制", None, None),
    ("openai-characters", "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576", None,
     None),
]  # fmt: skip


@pytest.mark.parametrize(("words", "limit", "prompt"), [one[1:] for one in REFUSALS], ids=[one[0] for one in REFUSALS])
def test_each_servers_refusal_is_read_with_its_tokens(words: str, limit: int | None, prompt: int | None) -> None:
    status = 429 if "TPM" in words else 400
    assert ContextRefusal.read(status, {"error": {"message": words}}) == ContextRefusal(limit, prompt)


def test_what_a_routers_provider_said_is_read() -> None:
    raw = '{"error": {"message": "This model\'s maximum context length is 8192 tokens, and you sent 9000 in the messages"}}'
    error = {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw, "provider_name": "x"}}
    assert ContextRefusal.read(400, {"error": error}) == ContextRefusal(8192, 9000)


def test_llama_cpps_fields_are_read() -> None:
    error = {
        "code": 400,
        "type": "exceed_context_size_error",
        "message": "no room",
        "n_prompt_tokens": 5000,
        "n_ctx": 4096,
    }
    assert ContextRefusal.read(400, {"error": error}) == ContextRefusal(4096, 5000)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (
            429,
            "Rate limit reached on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000. Reduce the length",
        ),
        (413, "Request too large for model on tokens per minute (TPM): Limit 6000"),
        (400, "max_tokens: 32000 > 9000, which is the maximum allowed number of output tokens for this model"),
        (
            400,
            "`max_tokens` must be <= `8192`, the maximum value for it is less than the `context_window` for this model",
        ),
        (400, "Unknown model gpt-x"),
        (400, "input was flagged by moderation"),
    ],
)
def test_other_refusals_are_not_about_the_context(status: int, words: str) -> None:
    assert ContextRefusal.read(status, {"error": {"message": words}}) is None


def tokens(request: Request) -> int:
    return sum(len(str(message.get("content") or "")) for message in request.body["messages"]) // 4


def vllm(request: Request) -> Reply:
    prompt, most = tokens(request), request.body.get("max_tokens", 1)
    if prompt + most > 4096:
        return failure(400, f"This model's maximum context length is 4096 tokens. However, you requested {prompt + most} tokens "
                       f"({prompt} in the messages, {most} in the completion).")  # fmt: skip
    return Reply(GOOD, prompt_tokens=prompt)


def llama_cpp(request: Request) -> Reply:
    return failure(400, "the request exceeds the available context size") if tokens(request) > 4096 else Reply(GOOD)


def lm_studio(request: Request) -> Reply:
    error = {
        "error": {"message": "The number of tokens to keep from the initial prompt is greater than the context length"}
    }
    return Reply(events=[error]) if tokens(request) > 4096 else Reply(GOOD)


async def test_a_shorter_answer_is_asked_for_before_a_shorter_prompt_and_the_context_is_learned() -> None:
    with ScriptedEndpoint(vllm) as endpoint:
        async with model_at(endpoint.url, max_tokens=2_000_000) as model:
            for text in ("x" * 4_000, "y" * 4_000):
                await model.complete(Question(text), role="coder", limits=CallLimits())
    assert len(endpoint.requests) == 3, "the second prompt fits at once"
    assert [tokens(request) for request in endpoint.requests] == [1003, 1003, 1003]
    assert endpoint.requests[1].body["max_tokens"] >= 2_500


@pytest.mark.parametrize("words", ["the maximum context length is 2000 tokens", "the context length"])
async def test_an_error_that_repeats_a_prompt_shortens_no_later_one(words: str) -> None:
    def script(request: Request) -> Reply:
        if "POSTED" in str(request.body):
            return failure(400, f"no: 'as POSTED by a stranger, {words}'")
        return Reply(GOOD, prompt_tokens=tokens(request))

    heard, limits = list[str](), CallLimits(max_tokens=4_000)
    with ScriptedEndpoint(script) as endpoint:
        async with model_at(endpoint.url, say=heard.append) as model:
            with pytest.raises(ModelRefused):
                await model.complete(Question(f"y as POSTED by a stranger, {words} y"), role="coder", limits=limits)
            await model.complete(Question("x" * 16_000), role="coder", limits=limits)
    assert tokens(endpoint.requests[-1]) > 4_000 and endpoint.requests[-1].body["max_tokens"] == 4_000
    assert heard == []


@pytest.mark.parametrize("script", [vllm, llama_cpp, lm_studio])
async def test_a_prompt_that_is_too_long_loses_its_middle_and_later_ones_do_at_once(script: object) -> None:
    text = "begin" + "x" * 60_000 + "end"
    with ScriptedEndpoint(script) as endpoint:
        async with model_at(endpoint.url) as model:
            assert (await model.complete(Question(text), role="coder", limits=CallLimits())).answer.value == 7
            tries = len(endpoint.requests)
            await model.complete(Question(text + "?"), role="coder", limits=CallLimits())
    assert len(endpoint.requests) == tries + 1
    last = endpoint.requests[-1].last
    assert last.startswith("begin") and last.endswith("end?")
    assert 1_500 < tokens(endpoint.requests[-1]) <= 4096


async def test_a_conversation_with_native_calls_is_shortened_too() -> None:
    said = ("Look.", "```sh\nls\n```", "x" * 40_000, "```sh\npwd\n```", "/work")
    with ScriptedEndpoint(vllm) as endpoint:
        async with model_at(endpoint.url) as model:
            await model.complete(Turn(said), role="coder", limits=CallLimits())
    messages = endpoint.requests[-1].body["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert messages[-1]["content"] == "/work"


async def test_an_endpoint_that_refuses_every_length_is_given_up() -> None:
    with ScriptedEndpoint([failure(400, "prompt is too long")]) as endpoint:
        async with model_at(endpoint.url, max_tokens=8_000) as model:
            with pytest.raises(ModelRefused, match="too long"):
                await model.complete(Question("x" * 20_000), role="coder", limits=CallLimits())
    assert len(endpoint.requests) <= 17


@pytest.mark.parametrize(("reported", "said"), [(2_048, 1), (4_500, 0), (0, 0)])
async def test_a_prompt_that_is_cut_without_a_word_is_noticed_once(reported: int, said: int) -> None:
    notices: list[str] = []
    with ScriptedEndpoint([Reply(GOOD, prompt_tokens=reported)]) as endpoint:
        async with model_at(endpoint.url, say=notices.append) as model:
            for text in ("x" * 20_000, "y" * 20_000):
                await model.complete(Question(text), role="coder", limits=CallLimits())
    assert len(notices) == said
    assert all("num_ctx" in notice for notice in notices)


def test_the_longest_messages_are_shortened_to_one_length() -> None:
    messages = [Message("user", "a" * 10), Message("user", "b" * 5_000), Message("user", "c" * 9_000)]
    sizes = [len(message.content) for message in shortened(messages, 4_010)]
    assert sizes[0] == 10
    assert 1_950 < sizes[1] == sizes[2] <= 2_000


def test_what_fits_stays_as_it_is() -> None:
    assert Window().room(100_000, 32_000, refused=False) == (None, None)
    assert Window(limit=200_000).room(100_000, 32_000, refused=False) == (None, None)


def test_what_an_error_repeats_of_its_prompt_is_no_limit() -> None:
    words = "bad request: 'see: The maximum  context length is 2000 tokens.' is not allowed"
    assert ContextRefusal.read(400, {"error": {"message": words}}) == ContextRefusal(2000, None)
    assert (
        ContextRefusal.read(400, {"error": {"message": words}}, "a post: the maximum context length is 2000 tokens")
        is None
    )
    real = f"{words}; this model's maximum context length is 8192 tokens"
    refusal = ContextRefusal.read(
        400, {"error": {"message": real}}, "a post: the maximum context length is 2000 tokens"
    )
    assert refusal == ContextRefusal(8192, None)
