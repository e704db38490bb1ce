"""Who is asking: the one user's API token, or the legacy key."""

import base64
import binascii
import hmac

from bot.rehearsal.identity import wire_id
from bot.rehearsal.settings import SiteSettings
from bot.rehearsal.wire import Answer, Call, Refused


def unauthenticated() -> Refused:
    """Return Kaggle's 401."""
    return Refused(401, "Unauthenticated")


def authenticate(authorization: str | None, settings: SiteSettings) -> None:
    """Accept the header of the one user.

    Raises:
        Refused: 401 for no header, another scheme, or the wrong token or key.
    """
    scheme, _, value = (authorization or "").partition(" ")
    if scheme.lower() == "bearer" and _same(value.strip(), settings.token):
        return
    if scheme.lower() == "basic" and _same(_decoded(value.strip()), f"{settings.user_name}:{settings.legacy_key}"):
        return
    raise unauthenticated()


def introspect_token(call: Call, settings: SiteSettings) -> Answer:
    """IntrospectToken: who a token belongs to; not active where it is not the user's."""
    if not _same(call.text("token"), settings.token):
        return {"active": False}
    return {
        "active": True,
        "clientId": "kaggle-api-token",
        "username": settings.user_name,
        "userId": wire_id("user", settings.user_name),
        "scope": "resources.admin:*",
    }


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())
