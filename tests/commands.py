"""docs/commands.md, made of the help of every command: `python -m tests.commands` writes it."""

import re
from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from bot.cli.app import all_commands, app
from tests.installation import follow_pyproject
from tests.source_tree import ROOT

PAGE = ROOT / "docs" / "commands.md"
WIDTH = 100
_HELP = re.compile(r"^(?:Options:\n)? +--help +Show this message and exit\.\n*", re.MULTILINE)
"""The option that all commands have, which the page names once; with its heading where it is the only one."""
OPENING = """# Commands

```sh
bot replay my-demo --time 2m      # the first one to try; the option --help of each command prints what stands here
```

Results go to stdout and everything else to stderr. The exit status is 0 for done, 1 for "it ran, but without a usable result"
and 2 for wrong use or configuration. This page is written by `make docs` from the commands themselves.
"""


def page() -> str:
    """Return the page as it should be."""
    group: Any = get_command(app)
    context = group.make_context("bot", ["--help"], resilient_parsing=True, terminal_width=WIDTH)
    sections = [f"## `{path}`\n\n```text\n{text}\n```\n" for path, text in _helps(group, context)]
    return "\n".join([OPENING, *sections])


def _helps(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    """Yield each command's path and help, groups before what is in them."""
    lines = _HELP.sub("\n", command.get_help(context)).strip().splitlines()
    yield context.command_path, re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines))
    for name in getattr(command, "commands", {}):
        # A command of the root is imported only when it is resolved.
        child = command.resolve_command(context, [name])[1]
        inner = child.context_class(child, info_name=name, parent=context, terminal_width=WIDTH)
        yield from _helps(child, inner)


if __name__ == "__main__":
    follow_pyproject()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(all_commands())} commands and groups")
