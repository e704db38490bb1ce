"""Checks of the models and of your coding agents: are they configured, and do endpoints answer?"""

from collections.abc import Collection, Iterable, Iterator, Mapping

import httpx2

from bot.coder.coder_config import CoderSection, own_coder
from bot.doctor import Finding
from bot.doctor.trial import try_model
from bot.models.connection import OPENAI
from bot.models.endpoint import Endpoint
from bot.models.open_model import endpoint_name
from bot.models.pricing import Pricing
from bot.models.settings import ModelChoice, ModelSettings
from state.errors import UsageError
from state.redaction import can_be_secret

_SECONDS = 10.0
_CONTEXT_FIELDS = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length")
"""vLLM's, LM Studio's, OpenRouter's, Groq's and Mistral's; llama.cpp's is in `meta`."""


def is_foreign(settings: ModelSettings) -> bool:
    """Return whether a model other than the built-in one is configured to write code."""
    try:
        return settings.resolve(None).kind != "builtin"
    except UsageError:
        return True


def check_models(settings: ModelSettings, names: Collection[str | None] = ()) -> Iterator[Finding]:
    """Ask the configured endpoint, and each fallback's, which models it has, and its model for one short answer.

    `names` has the model of each competition's table, None where it names none.
    """
    try:
        choice = settings.resolve(None)
    except UsageError as error:
        yield Finding("model", "fails", "no model is configured", str(error))
        return
    if choice.kind == "builtin":
        fix = "set OPENAI_API_KEY (or OPENAI_BASE_URL) and OPENAI_MODEL, or configure [models] in bot.toml"
        is_chosen = set(names) == {"builtin"}
        finding = f"using the built-in model{', as set in bot.toml' if is_chosen else ''}, not a language model"
        yield Finding("model", "ok", finding) if is_chosen else Finding("model", "warning", finding, fix)
        return
    for number in range(len(settings.section.fallback) + 1):
        endpoint = Endpoint.configured(settings, choice, number)
        pricing = settings.pricing_at(number)
        yield _ask(f"fallback {number}" if number else "model", endpoint, settings.choice_at(choice, number), pricing)


def _ask(part: str, endpoint: Endpoint, choice: ModelChoice, pricing: Pricing) -> Finding:
    host, names, key = endpoint_name(endpoint.base_url), endpoint.names, endpoint.key.get_secret_value()
    is_dummy = not can_be_secret(key)
    if is_dummy and host in ("OpenAI", "api.openai.com"):
        fix = f"set {names.key} to a key from platform.openai.com, or {names.address} to your server's address"
        return Finding(part, "fails", f"{names.key} contains a dummy key, which OpenAI rejects", fix)
    label = f"{', '.join(choice.models)} at {host}{', with a dummy key' if is_dummy else ''}"
    address = (endpoint.base_url or OPENAI).rstrip("/") + "/models"
    try:
        answer = httpx2.get(address, headers={"Authorization": f"Bearer {key}"}, timeout=_SECONDS)
    except httpx2.HTTPError:
        return Finding(part, "fails", f"{host} does not answer", f"check {names.address} and that the server is up")
    if answer.status_code == 401:
        return Finding(part, "fails", f"{host} rejects the key", f"check {names.key}")
    available: dict[str, object] = {}
    try:
        available = {str(entry["id"]): entry for entry in answer.raise_for_status().json()["data"]}
    except (httpx2.HTTPError, ValueError, LookupError, TypeError):  # not every server lists its models
        label = f"{label} (cannot list models: HTTP status {answer.status_code})"
    trial = try_model(part, label, endpoint, pricing, _context(available.get(choice.model_for("coder"))))
    missing = [name for name in choice.models if available and name not in available]
    if missing and trial.status != "fails":
        fix = f"available models: {', '.join([*available][:10])}"
        return Finding(part, "warning", f"{host} does not list {', '.join(missing)}; {trial.result}", fix)
    return trial


def _context(entry: object) -> int | None:
    """Return the tokens that a model takes by its entry in a list of models; each server has a name of its own."""
    fields = entry if isinstance(entry, dict) else {}
    meta = fields.get("meta")
    values = [fields.get(name) for name in _CONTEXT_FIELDS] + [meta.get("n_ctx") if isinstance(meta, dict) else None]
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def check_coders(sections: Mapping[str, CoderSection], selected_names: Iterable[str] = ()) -> Iterator[Finding]:
    """Check each table [coders.NAME], and each name of one that a competition has chosen; none is started."""
    for name in dict.fromkeys((*sections, *selected_names)):
        try:
            coder = own_coder(name, sections, ModelChoice("openai", "any"))
        except UsageError as error:
            yield Finding(f"coder {name}", "fails", str(error), f"fix [coders.{name}], or install the program")
        else:
            program = coder.program or "runs its configured command"
            yield Finding(f"coder {name}", "ok", f"{program}; `bot coder check {name}` tests it")
