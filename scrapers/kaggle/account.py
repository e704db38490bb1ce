"""The owner of a key."""

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import Answer, Text


class Introspection(Answer):
    """What Kaggle knows of a token."""

    active: bool = False
    username: Text = ""


async def who_am_i(client: KaggleClient, token: str) -> Introspection:
    """Ask who owns a token; errors as of `KaggleClient`."""
    method = Method("security.OAuthService", "IntrospectToken", "account")
    return await client.call(method, {"token": token}, Introspection)
