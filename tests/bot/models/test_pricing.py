"""Prices: configured ones first, then list prices, else unknown."""

import pytest

from bot.models import Usage
from bot.models.pricing import Price, Pricing
from state.errors import UsageError

MILLION = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000, cached_tokens=400_000)


def test_configured_price_is_per_million_and_cached_input_has_its_own() -> None:
    pricing = Pricing({"m": Price(input=2.0, output=8.0, cached=0.5)})
    assert pricing.cost("m", MILLION) == pytest.approx(0.6 * 2.0 + 0.4 * 0.5 + 8.0)


def test_cached_input_without_a_price_costs_as_much_as_other_input() -> None:
    assert Pricing({"m": Price(input=2.0, output=8.0)}).cost("m", MILLION) == pytest.approx(10.0)


def test_list_price_is_taken_where_none_is_configured() -> None:
    # gpt-4o-mini: 0.15 USD a million input tokens, 0.60 output, as OpenAI lists it since July 2024.
    usage = Usage(prompt_tokens=1_000_000, completion_tokens=1_000_000)
    assert Pricing().cost("gpt-4o-mini", usage) == pytest.approx(0.75)
    assert Pricing(base_url="http://127.0.0.1:9/v1").cost("gpt-4o-mini", usage) == pytest.approx(0.75)


def test_configured_price_goes_before_the_list() -> None:
    assert Pricing({"gpt-4o-mini": Price(input=0.0, output=0.0)}).cost("gpt-4o-mini", MILLION) == 0.0


def test_unknown_model_has_no_price() -> None:
    assert Pricing().cost("made-up", MILLION) is None


def test_unknown_price_refuses_to_start_under_a_cap_only() -> None:
    pricing = Pricing({"m": Price(input=1.0, output=1.0)})
    pricing.ensure_price_known(["m", "made-up"], None)
    pricing.ensure_price_known(["m"], 1.0)
    with pytest.raises(UsageError, match=r'price of made-up is unknown.*prices."made-up"'):
        pricing.ensure_price_known(["m", "made-up"], 1.0)
