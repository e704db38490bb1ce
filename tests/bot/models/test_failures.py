"""What an endpoint's words mean; the classes themselves are tested over HTTP."""

from datetime import timedelta

import pytest

from bot.models.failures import classify, endpoint_words, requested_wait
from state.errors import EndpointBusy, ModelError, ModelMisconfigured, ModelUnavailable
from tests.bot.models.parts import CUTOFF


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "no\n such  model"}}, "no such model"),
        ({"error": "busy"}, "busy"),
        ({"message": "busy"}, "busy"),
        ("plain text", "plain text"),
        ("", "no message"),
        ({"error": {"message": "x" * 1000}}, "x" * 300),
    ],
)
def test_words_of_an_endpoint_are_one_bounded_line(body: object, words: str) -> None:
    assert endpoint_words(body) == words


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Rate limit reached for x. Please try again in 1m2.5s. Need more tokens?", 62.5),
        ("Please try again in 340ms.", 0.34),
        ("You exceeded your current quota. Please retry in 33.5s.", 33.5),
        ("Retry after 20 seconds.", 20),
        ("Request was throttled. Expected available in 20.0 seconds.", 20),
        ("retry after: 10 sec", 10),
        ("Try again in about 12 seconds.", 12),
        ("retry-after: -1, or try again in 4s", 4),
        ("Your quota resets in 42 seconds.", 42),
        ("try again later; it was retried 3 times", None),
    ],
)
def test_the_wait_that_an_error_names_is_read(words: str, seconds: float | None) -> None:
    assert requested_wait({}, {"error": {"message": words}}, CUTOFF) == seconds


@pytest.mark.parametrize("fields", [{"estimated_time": 9.0}, {"retryAfter": "9s"}, {"error": {"retry_after": 9}}])
def test_the_wait_in_a_field_of_its_own_is_read(fields: dict[str, object]) -> None:
    assert requested_wait({}, {"error": "busy", **fields}, CUTOFF) == 9


def test_the_wait_that_gemini_names_beside_its_message_is_read() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "37s"}]
    assert requested_wait({}, {"error": {"message": "quota", "details": details}}, CUTOFF) == 37


@pytest.mark.parametrize(
    "words",
    [
        "The model `x` has been decommissioned and is no longer supported.",
        "The supported API model names are x and y, but you passed z.",
        "User location is not supported for the API use.",
        "Access denied, please make sure your account is in good standing.",
        "foo/bar is not a valid model ID",
        "Budget has been exceeded! Current cost: 10.1, Max budget: 10.0",
        "As of transformers v4.44, default chat template is no longer allowed, so you must provide a chat template.",
        "Model unloaded.",
        "The model `x` requires terms acceptance.",
        "You have reached your specified API usage limits.",
    ],
)
def test_an_error_about_the_account_or_the_models_name_is_no_refusal_of_a_prompt(words: str) -> None:
    assert isinstance(classify(400, {"error": {"message": words}}, model="x"), ModelMisconfigured)


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "ThrottlingException: Too many requests, please wait before trying again.", EndpointBusy),
        (400, "The model has crashed without additional information.", ModelUnavailable),
        (500, "model requires more system memory (17.0 GiB) than is available (9.1 GiB)", ModelMisconfigured),
    ],
)
def test_words_that_contradict_their_status_are_believed(status: int, words: str, kind: type[ModelError]) -> None:
    assert type(classify(status, {"error": words}, model="x")) is kind


def test_an_error_that_a_gateway_wraps_has_the_class_of_the_first_one() -> None:
    error = {"message": "litellm.AuthenticationError: Incorrect API key provided", "code": "401"}
    assert isinstance(classify(500, {"error": error}, model="x"), ModelMisconfigured)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "3s"}, 3),
        ({"retry-after": (CUTOFF + timedelta(seconds=9)).isoformat()}, 9),
    ],
)
def test_the_wait_that_a_header_names_goes_before_that_in_words(headers: dict[str, str], seconds: float) -> None:
    assert requested_wait(headers, {"error": "try again in 20s"}, CUTOFF) == seconds
