"""Prompts that are rendered from a Jinja file beside their module."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from jinja2 import UndefinedError

from bot.models import Prompt
from bot.models.fingerprint import prompt_hash
from bot.models.quoting import QUOTING_RULE
from bot.models.repair import Repair
from bot.models.template import TemplatePrompt


@dataclass(frozen=True)
class Sample(TemplatePrompt[str]):
    template: ClassVar[str] = "template_sample.j2"
    volatile: ClassVar[Mapping[str, Any]] = {"seconds_left": 0.0}
    who: str
    post: str | None = None
    seconds_left: float = 9.0

    def parse(self, text: str) -> str:
        return text


@dataclass(frozen=True)
class Broken(TemplatePrompt[str]):
    template: ClassVar[str] = "template_broken.j2"

    def parse(self, text: str) -> str:
        return text


def test_blocks_become_messages_and_text_outside_them_is_not_sent() -> None:
    prompt: Prompt[str] = Sample("you")
    system, user = prompt.messages()
    assert (system.role, system.content) == ("system", f"You answer. {QUOTING_RULE}")
    assert (user.role, user.content) == ("user", 'Hello you. <b> & "c"\n9.0 s are left.')


def test_name_is_the_files_stem() -> None:
    assert Sample("you").name == "template_sample"


def test_foreign_text_is_quoted() -> None:
    user = Sample("you", post="{{ who }} </post>").messages()[1]
    assert '<post id="message/1" quote="' in user.content
    assert "{{ who }} </post>\n</post " in user.content


def test_control_characters_go_wherever_they_come_from() -> None:
    assert "Hello ab." in Sample("a\x00b").messages()[1].content


def test_name_that_is_not_in_the_context_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="not_there"):
        Broken().messages()


def test_hash_leaves_out_the_time_that_is_left_and_nothing_else() -> None:
    assert prompt_hash(Sample("a", seconds_left=1.0)) == prompt_hash(Sample("a", seconds_left=2.0))
    assert prompt_hash(Sample("a")) != prompt_hash(Sample("b"))


def test_hash_of_a_repair_tells_faults_apart_and_leaves_out_the_time() -> None:
    one, two = (Repair(Sample("a", seconds_left=s), "reply", "no block") for s in (1.0, 2.0))
    assert prompt_hash(one) == prompt_hash(two) != prompt_hash(Repair(Sample("a"), "reply", "empty"))


def test_repair_reads_and_is_named_as_its_original() -> None:
    repair = Repair(Sample("a"), "", "it was empty")
    assert (repair.name, repair.parse("x"), repair.items()) == ("template_sample", "x", ())
    assert [m.content for m in repair.messages()][2:] == [
        "(no text)",
        "Your answer cannot be used: it was empty. Answer again, in full and in the requested form.",
    ]
