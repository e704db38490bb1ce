"""What the documents say is so: their links, commands, options, targets, messages and examples of bot.toml."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bot.configuration.settings import Settings
from bot.research.bench.plan import BenchPlan
from tests import commands
from tests.source_tree import ROOT, sources

DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/extending").glob("*.md")),
)
LONGEST_README = 200
WIDTH = 140

each = pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)


def test_pages_have_what_commands_and_settings_say() -> None:
    assert commands.PAGE.read_text(encoding="utf-8") == commands.page(), "run make docs"
    assert commands.SETTINGS_PAGE.read_text(encoding="utf-8") == commands.settings_page(), "run make docs"


def test_the_readme_is_short() -> None:
    assert len(_text(ROOT / "README.md").splitlines()) <= LONGEST_README


@each
def test_lines_are_of_a_readable_width(path: Path) -> None:
    loose = re.compile(r"\||\s*!?\[|.*https?://")
    lines = [line for line in _text(path).splitlines() if len(line) > WIDTH and not loose.match(line)]
    assert [line for line in lines if "](" not in line] == []


@each
def test_links_lead_to_files_and_headings_that_there_are(path: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", _text(path)):
        file, _, heading = target.partition("#")
        found = (path.parent / file) if file else path
        if "://" in target or (found.exists() and (not heading or heading in _anchors(found))):
            continue
        broken.append(target)
    assert broken == []


@each
def test_commands_that_are_named_exist_with_the_options_that_they_are_given(path: Path) -> None:
    wrong = []
    for line in _examples(path):
        for words in re.findall(r"\bbot ((?:[a-z-]+ ?)+[^`;&|#]*)", line):
            path_of = ["bot", *words.split()]
            names = (" ".join(path_of[:many]) for many in (4, 3, 2))
            helped = next((_helps()[name] for name in names if name in _helps()), None)
            options = set(re.findall(r"(?<!\S)--[a-z][a-z-]+", words))
            if helped is None or not options <= set(re.findall(r"--[a-z][a-z-]+", helped)):
                wrong.append(line)
    assert wrong == []


@each
def test_make_targets_that_are_named_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", _text(ROOT / "Makefile"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", _text(path), re.MULTILINE))
    assert named - targets == set()


@each
def test_examples_of_settings_are_settings(path: Path) -> None:
    for block in re.findall(r"^```toml\n(.*?)^```", _text(path), re.MULTILINE | re.DOTALL):
        if block.startswith("# pyproject.toml"):
            continue
        content = tomllib.loads(block)
        # Faults of a rehearsal, plans of benches and kinds of notices have files of their own.
        if "fault" not in content and not any("." in table for table in content):
            (BenchPlan if "competitions" in content and "agents" in content else Settings).model_validate(content)


def test_messages_that_are_quoted_are_messages_of_the_program() -> None:
    rows = re.findall(r"^\| (.*?) \|", _text(ROOT / "docs" / "errors.md"), re.MULTILINE)
    quoted = [message for row in rows for message in re.findall(r"`(.*?)`", row)]
    assert len(quoted) > 30
    # Of what is left out between two dots, nothing is known: the two sides may be texts of their own.
    parts = [part for message in quoted for part in message.split("...") if re.search(r"\w", part)]
    assert [part for part in parts if not any(map(_pattern(part).search, _texts()))] == []


def test_words_of_prompts_that_are_quoted_are_in_prompts() -> None:
    rows = [line.split(" | ") for line in _text(ROOT / "docs" / "agents.md").splitlines() if line.startswith("| ")]
    quoted = [words for row in rows if len(row) >= 4 for words in re.findall(r'"([^"]+)"', row[2])]
    assert len(quoted) > 25
    prompts = [path for kind in ("*.j2", "*.py") for path in (ROOT / "bot").rglob(kind)]
    text = "\n".join(path.read_text(encoding="utf-8") for path in prompts)
    assert [words for words in quoted if words.strip("… ") not in text] == []


def _pattern(message: str) -> re.Pattern[str]:
    """Return what a text holds that becomes a message: its words but for names in capitals, names of files, and numbers."""
    fixed = re.split(r"\b[A-Z]{2,}\b|\b\w+\.(?:json|csv|toml)\b|\b\d[\d.]*", message)
    return re.compile(".*".join(re.escape(part) for one in fixed if (part := one.strip(" :;,'"))), re.DOTALL)


@cache
def _texts() -> frozenset[str]:
    """Return the texts in the program's code without backticks, those for its readers aside; what is filled in is a gap."""
    found = set()
    for path in sources(ROOT):
        tree = ast.parse(_text(path))
        nodes = list(ast.walk(tree))
        documenting = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                found.add("".join(str(one.value) if isinstance(one, ast.Constant) else "\0" for one in node.values))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documenting:
                found.add(node.value)
    return frozenset(text.replace("`", "") for text in found)


def _examples(path: Path) -> Iterator[str]:
    """Yield the lines of blocks for a shell that call the bot, and code within sentences that begins with it."""
    text = _text(path)
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        yield from (line for line in block.splitlines() if re.search(r"(^|[/;&] ?)bot ", line))
    yield from re.findall(r"`(bot [a-z][^`]*)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def _anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", _text(path), re.MULTILINE)
    return {re.sub(r"[^a-z0-9 -]", "", one.lower()).replace(" ", "-") for one in headings}


_helps = cache(commands.command_helps)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
