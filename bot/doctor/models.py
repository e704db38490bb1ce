"""The checks of the models: is one configured, and do its endpoint and those of its fallbacks answer?"""

from collections.abc import Collection, Iterator

from bot.doctor import Check
from bot.models.endpoint import Endpoint
from bot.models.open import endpoint_name
from bot.models.settings import ModelChoice, ModelSettings
from state.errors import UsageError
from state.redaction import can_be_secret

_SECONDS = 10.0


def is_foreign(settings: ModelSettings) -> bool:
    """Return whether a model other than the built-in one is configured to write code."""
    try:
        return settings.resolve(None).kind != "builtin"
    except UsageError:
        return True


def check_models(settings: ModelSettings, named: Collection[str | None] = ()) -> Iterator[Check]:
    """Ask the configured endpoint, and each fallback's, which models it has, which costs nothing.

    Args:
        settings: the endpoints and models.
        named: the model that each competition's table names; None: it names none.
    """
    try:
        choice = settings.resolve(None)
    except UsageError as error:
        yield Check("model", "fails", "the configuration names no model", str(error))
        return
    if choice.kind == "builtin" and set(named) == {"builtin"}:
        yield Check("model", "ok", "the built-in rules, as bot.toml says; they are no language model")
        return
    if choice.kind == "builtin":
        fix = "set OPENAI_API_KEY (or OPENAI_BASE_URL) and OPENAI_MODEL, or [models] in bot.toml"
        yield Check("model", "warning", "none configured: the built-in rules answer, which are no language model", fix)
        return
    for number in range(len(settings.section.fallback) + 1):
        endpoint = Endpoint.configured(settings, choice, number)
        yield _check(f"fallback {number}" if number else "model", endpoint, settings.choice_at(choice, number))


def _check(part: str, endpoint: Endpoint, choice: ModelChoice) -> Check:
    import openai  # here, as it takes most of a second that no other command should pay

    where, names, models = endpoint_name(endpoint.base_url), endpoint.names, ", ".join(choice.models)
    dummy = not can_be_secret(endpoint.key.get_secret_value())
    if dummy and where in ("OpenAI", "api.openai.com"):
        fix = f"set {names.key} to a key of platform.openai.com, or {names.address} to a server of yours"
        return Check(part, "fails", f"{names.key} holds a dummy key, which OpenAI refuses", fix)
    about = f"{models} at {where}{', with a dummy key, which is fine for a server of yours' if dummy else ''}"
    client = openai.OpenAI(
        api_key=endpoint.key.get_secret_value(),
        base_url=endpoint.base_url,
        timeout=_SECONDS,
        max_retries=0,
        http_client=openai.DefaultHttpxClient(follow_redirects=False),
    )
    try:
        with client:
            known = [model.id for model in client.models.list()]
    except openai.AuthenticationError:
        return Check(part, "fails", f"{where} refuses the key", f"check {names.key}")
    except openai.APIConnectionError:
        return Check(part, "fails", f"{where} does not answer", f"check {names.address}, and that the server runs")
    except openai.APIError as error:
        # Not every server lists its models.
        return Check(part, "ok", f"{about} (it lists no models: {type(error).__name__})")
    if missing := [name for name in choice.models if known and name not in known]:
        fix = f"it has {', '.join(known[:10])}"
        return Check(part, "warning", f"{where} does not list {', '.join(missing)}", fix)
    return Check(part, "ok", about)
