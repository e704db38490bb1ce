"""Notices: what the owner should know, delivered at least once."""

from dataclasses import fields
from typing import Any, Protocol, Self

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

__all__ = ["Notice", "Notifier", "Receipt"]


@dataclass(frozen=True)
class Notice:
    """One message to the owner; two with the same key are the same message."""

    key: str
    kind: str
    """Such as `submission.refused`."""
    title: str
    body: str
    """Plain text."""
    run_id: str | None = None
    markdown: str = ""
    """The body for services that show Markdown; empty: use the plain one."""
    urgent: bool = False
    """Sent in quiet hours too."""

    @classmethod
    def of(cls, row: object) -> Self:
        """Return the notice in a row of a table such as `Notification` or `Letter`."""
        return TypeAdapter(cls).validate_python({field.name: getattr(row, field.name) for field in fields(cls)})

    def columns(self) -> dict[str, Any]:
        """Return it as the columns of a row."""
        columns: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return columns


@dataclass(frozen=True)
class Receipt:
    """The service accepted a notice; `reference` is the service's id for it, if it gives one."""

    reference: str | None = None


class Notifier(Protocol):
    """Sends notices out of the machine."""

    async def send(self, event: Notice) -> Receipt:
        """Send one notice with its key, by which a reader recognises a second copy.

        Raises:
            NotificationFailed: it may not have arrived; it is sent again later.
        """
        ...
