"""The check of the model: is one configured, and does its endpoint answer."""

from bot.doctor import Check
from bot.models.settings import ModelSettings
from state.errors import UsageError

_SECONDS = 10.0


def is_foreign(settings: ModelSettings) -> bool:
    """Return whether another than the built-in model writes code, as it is configured."""
    try:
        return settings.resolve(None).kind != "builtin"
    except UsageError:
        return True


def check_model(settings: ModelSettings) -> Check:
    """Ask the configured endpoint which models it has, which costs nothing."""
    try:
        choice = settings.resolve(None)
    except UsageError as error:
        return Check("model", "fails", "the configuration names no model", str(error))
    if choice.kind == "builtin":
        mend = "set OPENAI_API_KEY (or OPENAI_BASE_URL) and OPENAI_MODEL, or [models] in bot.toml"
        return Check(
            "model", "warning", "none configured: the built-in rules answer, which are no language model", mend
        )
    import openai  # here, as it takes most of a second that no other command should pay

    where = settings.base_url or "OpenAI"
    client = openai.OpenAI(
        api_key=settings.key.get_secret_value(), base_url=settings.base_url, timeout=_SECONDS, max_retries=0
    )
    try:
        with client:
            known = [model.id for model in client.models.list()]
    except openai.AuthenticationError:
        return Check("model", "fails", f"{where} does not take the key", "check OPENAI_API_KEY")
    except openai.APIConnectionError:
        return Check("model", "fails", f"{where} does not answer", "check OPENAI_BASE_URL, and that the server runs")
    except openai.APIError as error:
        # Not every server has a list of its models.
        return Check(
            "model", "ok", f"{', '.join(choice.models)} at {where} (it lists no models: {type(error).__name__})"
        )
    if missing := [name for name in choice.models if known and name not in known]:
        mend = f"it has {', '.join(known[:10])}"
        return Check("model", "warning", f"{where} does not list {', '.join(missing)}", mend)
    return Check("model", "ok", f"{', '.join(choice.models)} at {where}")
