"""Notices: what the owner is to know, sent at least once, and how it gets there."""

from dataclasses import fields
from typing import Any, Protocol, Self

from pydantic import TypeAdapter
from pydantic.dataclasses import dataclass

__all__ = ["Notice", "Notifier", "Receipt"]


@dataclass(frozen=True)
class Notice:
    """One message to the owner; two with the same key are the same."""

    key: str
    kind: str
    """Such as `submission.refused`."""
    title: str
    body: str
    """Plain text."""
    run_id: str | None = None
    markdown: str = ""
    """The body for services that show Markdown; empty: the plain one will do."""
    urgent: bool = False
    """Sent in quiet hours too."""

    @classmethod
    def of(cls, row: object) -> Self:
        """Return what a row, such as of `Notification` or `Letter`, holds of it."""
        return TypeAdapter(cls).validate_python({field.name: getattr(row, field.name) for field in fields(cls)})

    def columns(self) -> dict[str, Any]:
        """Return it as the columns of a row."""
        columns: dict[str, Any] = TypeAdapter(type(self)).dump_python(self, mode="json")
        return columns


@dataclass(frozen=True)
class Receipt:
    """The service took a notice; `reference` is its name for it, if it gives one."""

    reference: str | None = None


class Notifier(Protocol):
    """Sends notices out of the machine."""

    async def send(self, event: Notice) -> Receipt:
        """Send one notice, with its key, so that whoever gets it twice can tell.

        Raises:
            NotificationFailed: it may not have arrived; it is sent again later.
        """
        ...
