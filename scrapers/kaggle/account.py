"""Whose key it is."""

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import Answer, Text


class Introspection(Answer):
    """What Kaggle knows of a token."""

    active: bool = False
    username: Text = ""


async def who_am_i(client: KaggleClient, token: str) -> Introspection:
    """Ask whose token it is; errors as of `KaggleClient`."""
    method = Method("security.OAuthService", "IntrospectToken", "account")
    return await client.call(method, {"token": token}, Introspection)
