"""The owner of a key."""

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import ApiResponse, Text
from state.errors import UnknownAnswer


class Introspection(ApiResponse):
    """What Kaggle knows of a token."""

    active: bool = False
    username: Text = ""


async def who_am_i(client: KaggleClient, token: str) -> Introspection:
    """Ask who owns a token; errors as of `KaggleClient`."""
    method = Method("security.OAuthService", "IntrospectToken", "account")
    return await client.call(method, {"token": token}, Introspection)


async def own_name(client: KaggleClient) -> str:
    """Return the user's name, as it stands in references of what is theirs; errors as of `KaggleClient`."""
    key = await client.key()
    name = key.user or (await who_am_i(client, key.secret)).username
    if not name:
        raise UnknownAnswer("Kaggle did not return the user name for this key")
    return name
