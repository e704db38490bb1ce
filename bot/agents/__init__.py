"""The agents: each a policy that says what to do next, with its prompts and settings, and one line where they are listed."""

from typing import Literal

__all__ = ["AgentName"]

AgentName = Literal["comind", "aide"]
