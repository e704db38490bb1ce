"""Authentication of the one user, by API token or by the legacy key."""

import base64
import hmac

from bot.simulator.site.identity import wire_id
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.wire import Answer, ApiError, Call


def unauthenticated() -> ApiError:
    """Return Kaggle's 401."""
    return ApiError(401, "Unauthenticated")


def authenticate(authorization: str | None, settings: SiteSettings) -> None:
    """Accept the header of the one user. Raises ApiError: 401 for no header, another scheme, or the wrong token or key."""
    basic = base64.b64encode(f"{settings.user_name}:{settings.legacy_key}".encode()).decode()
    scheme, _, value = (authorization or "").partition(" ")
    expected = {"bearer": settings.token, "basic": basic}.get(scheme.lower())
    if expected is None or not _same(value.strip(), expected):
        raise unauthenticated()


def introspect_token(call: Call, settings: SiteSettings) -> Answer:
    """IntrospectToken: who a token belongs to; not active if it is not the user's."""
    if not _same(call.text("token"), settings.token):
        return {"active": False}
    return {
        "active": True,
        "clientId": "kaggle-api-token",
        "username": settings.user_name,
        "userId": wire_id("user", settings.user_name),
        "scope": "resources.admin:*",
    }


def _same(first: str, second: str) -> bool:
    return hmac.compare_digest(first.encode(), second.encode())
