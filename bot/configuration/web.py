"""The table `[web]` of bot.toml."""

from pydantic import Field

from state.closed_model import ClosedModel

WEB_PORT = 8765


class WebSettings(ClosedModel):
    """The page."""

    enabled: bool = Field(
        default=False,
        description="whether the daemon starts the web dashboard, in a separate process; `bot web` does not need this setting",
    )
    port: int = Field(default=WEB_PORT, ge=1, le=65535, description="the dashboard's port")
    listen: str = Field(
        default="127.0.0.1",
        description="the address to listen on. Other machines cannot reach the default, loopback; on any other address, the "
        "token and everything else are sent unencrypted. See docs/web.md for safer options",
    )
    hosts: tuple[str, ...] = Field(
        default=(),
        description="additional host names by which browsers may reach the dashboard, for example through a proxy on this "
        "machine; include the port unless it is 80 or 443. Requests for other names are refused",
        examples=[["machine.tailnet.ts.net"]],
    )
