"""Whose key it is."""

from typing import ClassVar

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import Answer, Int, Text, Time

__all__ = ["Introspection", "who_am_i"]


class Introspection(Answer):
    """What Kaggle knows of a token."""

    sdk: ClassVar[str] = "IntrospectTokenResponse"
    active: bool = False
    username: Text = ""
    user_id: Int | None = None
    scope: Text = ""
    exp: Time | Int | None = None
    """When it ends."""


async def who_am_i(client: KaggleClient, token: str) -> Introspection:
    """Ask whose token it is; errors as of `KaggleClient`."""
    method = Method("security.OAuthService", "IntrospectToken", "account")
    return await client.call(method, {"token": token}, Introspection)
