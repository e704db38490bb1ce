"""Typed events: a frozen dataclass whose fields fill a Jinja file beside its module, as a notice."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from bot.notify import Notice, Plot
from bot.notify.wording import FILTERS, escaped, plain

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Event"]

_TITLE = 200
"""Characters; more is cut off, as a subject line is short."""


@dataclass(frozen=True)
class Event(ABC):
    """Base of the typed events.

    A subclass is a frozen dataclass that sets `kind` and `template` and has a `key`, which is the same whenever the
    same thing is told: a restart, or reading the same twice, tells nothing twice.

    The Jinja file has the blocks `title`, `text` and `markdown`. It sees the fields by name (or what `context` returns) and
    the filters of `bot.notify.wording`. What it prints is cleaned of control characters, and in `markdown` escaped:
    names and messages are foreign text.
    """

    kind: ClassVar[str]
    """Such as `standing.rank`, by which the owner sorts at once from digest."""
    template: ClassVar[str]
    """The Jinja file's name, beside the module of the class."""
    urgent: ClassVar[bool] = False
    """Told in quiet hours too."""

    @property
    @abstractmethod
    def key(self) -> str:
        """What it is de-duplicated by."""

    def context(self) -> dict[str, Any]:
        """Return what the template sees; by default the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def plots(self) -> tuple[Plot, ...]:
        """Return what is shown as a picture where that can be; the text says it too."""
        return ()

    def notice(self, run_id: str | None = None) -> Notice:
        """Return it as it is told.

        Raises:
            jinja2.TemplateError: the file is missing, or names something that is not in the context.
        """
        title, text = (self._block(name, plain) for name in ("title", "text"))
        markdown = self._block("markdown", escaped)
        title = " ".join(title.split())[:_TITLE]
        return Notice(self.key, self.kind, title, text, run_id, markdown, self.urgent, self.plots())

    def _block(self, name: str, finalize: Callable[[Any], Any]) -> str:
        folder = Path(str(sys.modules[type(self).__module__].__file__)).parent
        template = _environment(folder, finalize).get_template(self.template)
        context = template.new_context(self.context())
        # Running the whole file first is what defines its macros.
        for _ in template.root_render_func(context):
            pass
        return "".join(template.blocks[name](context)).strip()


@cache
def _environment(folder: Path, finalize: Callable[[Any], Any]) -> "Environment":
    # Here, as a bot.toml that names kinds of notices is checked without writing one.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # No browser reads it: HTML is escaped by what makes HTML of it.
    environment = Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - see above
        finalize=partial(_printed, finalize),
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(FILTERS)
    return environment


def _printed(finalize: Callable[[Any], Any], value: Any) -> Any:
    # Of a name that is not there the text would be made before anybody could refuse it.
    return finalize(value) if isinstance(value, str) else value
