"""Typed prompts: a frozen dataclass whose fields fill a Jinja file beside its module."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from bot.models import Item, Message
from bot.models.quoting import QUOTING_RULE, clean, in_quotes, line, quoted
from scrapers.posts.cleaning import fenced

AnswerT_co = TypeVar("AnswerT_co", covariant=True)


@dataclass(frozen=True)
class TemplatePrompt(ABC, Generic[AnswerT_co]):
    """Base of the typed prompts.

    A subclass is a frozen dataclass that sets `template` and writes `parse` and, if it shows dated things, `items`::

        @dataclass(frozen=True)
        class WriteScript(TemplatePrompt[str]):
            template: ClassVar[str] = "write_script.j2"
            volatile: ClassVar[Mapping[str, Any]] = {"seconds_left": 0.0}
            plan: str
            seconds_left: float

            def parse(self, text: str) -> str:
                return one_code_block(text)

    The Jinja file has a block `user` and, optionally, a block `system`; text outside blocks is not sent. Its variables
    are the fields (or what `context` returns) and `quoting_rule`, its filters `quoted`, `line`, `in_quotes`, `clean` and
    `fenced`. The blocks may use imports and macros at the top of the file, and blocks of a file that it extends. The prompt's
    name is the file's stem, so no field may be called `name`.
    """

    template: ClassVar[str]
    """The Jinja file's name, beside the module of the class that sets it."""

    volatile: ClassVar[Mapping[str, Any]] = {}
    """Fields that vary between equal runs (remaining time and money), each with its stand-in for the fingerprint."""

    @property
    def name(self) -> str:
        """The prompt's name: the template's stem."""
        return Path(self.template).stem

    def context(self) -> dict[str, Any]:
        """Return the template's variables; by default the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def messages(self) -> Sequence[Message]:
        """Render the system message (if there is one) and the user message.

        Raises:
            jinja2.TemplateError: the file is missing, or names something that is not in the context.
            KeyError: the file has no block `user`.
        """
        blocks = _render(_environment(_folder(type(self))).get_template(self.template), self.context())
        system = [Message("system", blocks["system"])] if blocks.get("system") else []
        return (*system, Message("user", blocks["user"]))

    def fingerprint(self) -> Sequence[Message]:
        """Return the messages with the stand-ins for volatile fields."""
        return replace(self, **self.volatile).messages()

    def items(self) -> Sequence[Item]:
        """Return the dated things that the text contains; none by default."""
        return ()

    @abstractmethod
    def parse(self, text: str) -> AnswerT_co:
        """Read a reply; raises Unparsable, which names what to repair."""


def _render(template: Template, values: dict[str, Any]) -> dict[str, str]:
    context = template.new_context(values)
    # Running the whole file first is what defines its top-level imports and macros, and the blocks of what it extends.
    for _ in template.root_render_func(context):
        pass
    blocks = ((name, stack[0]) for name, stack in context.blocks.items() if name in ("system", "user"))
    return {name: clean("".join(block(context))).strip() for name, block in blocks}


def _folder(prompt: type[object]) -> Path:
    """Return the folder of the module whose class sets `template`."""
    owner = next(cls for cls in prompt.__mro__ if "template" in vars(cls))
    file = sys.modules[owner.__module__].__file__
    if file is None:
        raise TypeError(f"{owner.__qualname__} is not defined in a file, so it has no template")
    return Path(file).parent


@cache
def _environment(folder: Path) -> Environment:
    # The text goes to a model, not to a browser: escaping HTML would garble it.
    environment = Environment(
        loader=FileSystemLoader([folder, Path(__file__).parent]),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - see above
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(quoted=quoted, clean=clean, line=line, in_quotes=in_quotes, fenced=fenced)
    environment.globals["quoting_rule"] = QUOTING_RULE
    return environment
