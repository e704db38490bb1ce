"""The cost of a call: by the configured price of a model, else the list price, else unknown."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from bot.models import Usage
from state.closed_model import ClosedModel
from state.errors import UsageError

_PER_MILLION = 1_000_000


class Price(ClosedModel):
    """USD per million tokens of one model; cached input costs as much as other input unless it is given."""

    input: float = Field(ge=0, allow_inf_nan=False, description="price of input")
    output: float = Field(ge=0, allow_inf_nan=False, description="price of output")
    cached: float | None = Field(
        default=None, ge=0, allow_inf_nan=False, description="price of cached input (default: the price of input)"
    )

    def cost(self, usage: Usage) -> float:
        """Return the cost (USD); `usage.prompt_tokens` includes the cached ones."""
        cached = min(usage.cached_tokens, usage.prompt_tokens)
        price_cached = self.input if self.cached is None else self.cached
        new = usage.prompt_tokens - cached
        total = new * self.input + cached * price_cached + usage.completion_tokens * self.output
        return total / _PER_MILLION


class Pricing:
    """Prices of models: those configured, and the list prices of genai-prices (offline, no look-up on the network)."""

    def __init__(self, configured: Mapping[str, Price] | None = None, *, base_url: str | None = None) -> None:
        """Set the prices by model name, and the endpoint's address, which identifies the provider."""
        self._configured = dict(configured or {})
        self._base_url = base_url

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return a call's cost (USD); None: the model's price is unknown."""
        if model in self._configured:
            return self._configured[model].cost(usage)
        return _list_cost(model, usage, self._base_url)

    def ensure_price_known(self, models: Iterable[str], cap: float | None) -> None:
        """Refuse to start under a money cap (USD) that could not be kept.

        Raises UsageError: there is a cap, and the price of one of the models is unknown.
        """
        if cap is None:
            return
        unknown = sorted({m for m in models if self.cost(m, Usage(prompt_tokens=1, completion_tokens=1)) is None})
        if unknown:
            raise UsageError(
                f"the price of {', '.join(unknown)} is unknown, so a money cap cannot be enforced: "
                f'set prices."{unknown[0]}" = {{input = USD, output = USD}} (per million tokens) under [models] in bot.toml, '
                "or remove the cap"
            )


def _list_cost(model: str, usage: Usage, base_url: str | None) -> float | None:
    """Return the cost (USD) by the list price of the endpoint's provider; if that is unknown, of the model's maker."""
    from genai_prices import Usage as ListUsage
    from genai_prices import calc_price

    tokens = ListUsage(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        cache_read_tokens=min(usage.cached_tokens, usage.prompt_tokens),
    )
    if base_url is not None:
        try:
            return float(calc_price(tokens, model, provider_api_url=base_url).total_price)
        except LookupError:
            pass
    try:
        return float(calc_price(tokens, model).total_price)
    except LookupError:
        return None
