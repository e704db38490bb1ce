"""What docs/ has of the commands' help and of the settings: `python -m tests.commands` writes it."""

import re
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel
from typer.main import get_command

from bot.agents.settings import ReplayOptions
from bot.cli.app import all_commands, app
from bot.cli.options import field_options
from bot.configuration.example import toml_value
from bot.configuration.fields import content_of, description_of
from tests.installation import follow_pyproject
from tests.source_tree import ROOT

PAGE = ROOT / "docs" / "commands.md"
SETTINGS_PAGE = ROOT / "docs" / "configuration.md"
WIDTH = 100
_HELP = re.compile(r"^(?:Options:\n)? +--help +Show this message and exit\.\n*", re.MULTILINE)
"""The option that all commands have, which the page names once; with its heading where it is the only one."""
_OF_RUN = "| key of `[run]`, option | meaning | default |\n|---|---|---|\n"
_ENTRY = re.compile(r"^  (-.*?)(?:  | <|\n).*\n?(?: {5,}.*\n?)*", re.MULTILINE)
"""An option and its text, which may take several lines."""
OPENING = """# Commands

```sh
bot replay my-demo --time 2m      # the first one to try; `bot COMMAND --help` prints what stands here
```

Results go to stdout, everything else to stderr. The exit status is 0 for done, 1 for "it ran, but without a usable result" and 2
for wrong use or configuration. Options that mean the same as with `bot replay` are described there.
"""


def page() -> str:
    """Return the page as it should be: without groups but the first, and with the options of `bot replay` described once."""
    helps = command_helps()
    replay = {" ".join(entry[0].split()) for entry in _ENTRY.finditer(helps["bot replay"])}
    sections = [OPENING]
    for path, text in helps.items():
        if path != "bot" and "\nCommands:\n" in text:
            continue
        if path != "bot replay":
            shared = [entry for entry in _ENTRY.finditer(text) if " ".join(entry[0].split()) in replay]
            for entry in shared:
                text = text.replace(entry[0], "")
            text = text.strip().removesuffix("Options:").strip()
            if shared:
                names = f"As with bot replay: {', '.join(entry[1] for entry in shared)}"
                text += f"\n\n{textwrap.fill(names, WIDTH, subsequent_indent='  ', break_on_hyphens=False)}"
        sections.append(f"## `{path}`\n\n```text\n{text}\n```\n")
    return "\n".join(sections)


def command_helps() -> dict[str, str]:
    """Return each command's help by its path, groups before what is in them."""
    group: Any = get_command(app)
    context = group.make_context("bot", ["--help"], resilient_parsing=True, terminal_width=WIDTH)
    return dict(_helps(group, context))


def _helps(command: Any, context: Any) -> Iterator[tuple[str, str]]:
    """Yield each command's path and help, groups before what is in them."""
    lines = _HELP.sub("\n", command.get_help(context)).strip().splitlines()
    yield context.command_path, re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines))
    for name in getattr(command, "commands", {}):
        # A command of the root is imported only when it is resolved.
        child = command.resolve_command(context, [name])[1]
        inner = child.context_class(child, info_name=name, parent=context, terminal_width=WIDTH)
        yield from _helps(child, inner)


def settings_page() -> str:
    """Return the page of the configuration with the keys of `[run]` as they should be."""
    before, _, after = SETTINGS_PAGE.read_text(encoding="utf-8").partition(_OF_RUN)
    return f"{before}{_OF_RUN}{''.join(_keys(ReplayOptions))}\n{after[after.index('## ') :]}"


def _keys(model: type[BaseModel], *path: str) -> Iterator[str]:
    """Yield a row for each key of a table, those of the tables within it after them."""
    options = {option.path: option.name for option in field_options(ReplayOptions)}
    inner = {name: field for name, field in model.model_fields.items() if content_of(field)[0] == "table"}
    for name in sorted(model.model_fields.keys() - inner.keys()):
        field = model.model_fields[name]
        default = "" if field.default is None else f"`{toml_value(field.default)}`"
        option = f", `--{options[(*path, name)]}`" if (*path, name) in options else ""
        yield f"| `{name}`{option} | {description_of(field)} | {default} |\n"
    for name, field in inner.items():
        yield f"| **`[{'.'.join(('run', *path, name))}]`** | {description_of(field)} | |\n"
        yield from _keys(content_of(field)[1] or BaseModel, *path, name)


if __name__ == "__main__":
    follow_pyproject()
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    SETTINGS_PAGE.write_text(settings_page(), encoding="utf-8")
    print(f"{PAGE.name}: {len(all_commands())} commands and groups")
