"""The check of notifications: is a service configured, is its address there, and does Apprise know what to do with it?"""

from bot.doctor import Check
from bot.notify.services import open_services
from bot.notify.settings import NotifySection
from state.errors import UsageError

_PART = "notifications"


def check_notify(settings: NotifySection) -> Check:
    """Look at the services' addresses; nothing is sent."""
    if not settings.services:
        mend = 'name services under [notify] in bot.toml, such as services = ["SLACK_URL"], then bot notify test'
        return Check(_PART, "warning", "none configured: the owner gets no notices", mend)
    try:
        services = open_services(settings)
    except UsageError as error:
        return Check(_PART, "fails", "a service cannot be used", str(error))
    return Check(_PART, "ok", ", ".join(f"{name}: {one.shown}" for name, one in services.items()))
