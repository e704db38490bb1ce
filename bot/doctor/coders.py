"""Checks of the owner's coding agents: whether they are installed. Only `bot coder check` starts one."""

from collections.abc import Iterable, Iterator, Mapping

from bot.coder.own import CoderSection, own_coder
from bot.doctor import Check
from bot.models.settings import ModelChoice
from state.errors import UsageError


def check_coders(sections: Mapping[str, CoderSection], chosen: Iterable[str] = ()) -> Iterator[Check]:
    """Check each table [coders.NAME], and each name of one that a competition has chosen."""
    for name in dict.fromkeys((*sections, *chosen)):
        try:
            coder = own_coder(name, sections, ModelChoice("openai", "any"))
        except UsageError as error:
            yield Check(f"coder {name}", "fails", str(error), "correct its table, or install it")
        else:
            place = coder.program or "started by its own command"
            yield Check(f"coder {name}", "ok", f"{place}; `bot coder check {name}` tries it out")
