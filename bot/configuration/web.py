"""The table `[web]` of bot.toml."""

from pydantic import Field

from state.closed import ClosedModel

WEB_PORT = 8765


class WebSettings(ClosedModel):
    """The page."""

    enabled: bool = Field(
        default=False,
        description="whether the daemon starts the page, in a separate process; `bot web` does not need this",
    )
    port: int = Field(default=WEB_PORT, ge=1, le=65535, description="the page's port")
    listen: str = Field(
        default="127.0.0.1",
        description="the address it listens at: loopback, which no other machine reaches; any other sends the token and "
        "everything else in the clear, see docs/web.md for better ways",
    )
    hosts: tuple[str, ...] = Field(
        default=(),
        description="further names under which a browser may reach it, with the port if it is not 80 or 443, such as that of "
        "a proxy on this machine; requests under other names are refused",
        examples=[["machine.tailnet.ts.net"]],
    )
