"""What the product reaches of itself: `make lint` fails on modules and names that no product code uses.

A module is reached if an entry point imports it, or a module that is reached; a name in a string counts, as of a program
that is started or an operation of the worker. Whether a name is used is vulture's judgement, by its spelling alone: two
functions of one name pass for one another. `__all__` is no use, nor is a test. Fields are not looked at: many mirror what
a site sends.
"""

import re
import sys
from pathlib import Path

import grimp
from vulture import Vulture

from tests.installation import entry_points
from tests.source_tree import PACKAGES, ROOT, files

__all__ = ["unreached_modules", "unused_names"]

STARTED = {
    "bot.__main__": "python -m bot",
    "sandbox.image.build": "make image",
    "bot.knowledge.embedding_process": "embeddings run it by its path, by an interpreter of their own",
    "sandbox.environments.check_script": "`bot env check` runs it by its path, inside the sandbox",
    "sandbox.lab.forwarder": "the command `gateway`, run by its path inside a lab",
    "sandbox.lab.client": "the module `lab`, imported inside a lab",
    "sandbox.lab.client.__main__": "the command `lab`, run by its path inside a lab",
    "sandbox.lab.client.command": "imported by it, under the name that it has there",
    "sandbox.lab.client.report": "likewise",
    "bot.portfolio.fit_portfolio": "sent to the sandbox as text, which fits a model of the portfolio",
    "tests.scrapers.snapshots.demo_board": "python -m: makes the bundled leaderboard anew",
}
"""Modules that people start, besides the console scripts, each with how."""
ELSEWHERE = ("bot/evaluation/graders/inside/", "scrapers/snapshots/demo_data/")
"""Folders whose files are run by their paths: by Alembic, and by graders and scripts in processes of their own."""
UNUSED = {
    "do_POST": "http.server calls it",
    "log_message": "http.server calls it",
    "pids": "tests and benchmarks watch the cleaners' processes by it",
    "UNKNOWN": "what Kaggle may answer",
    "convert_*": "markdownify calls them",
    "find_parent": "markdownify calls it",
    "handleError": "logging calls it",
    "handle_error": "socketserver calls it",
    "main_loop": "uvicorn calls it",
    "hang_up": "called on a node, by its name",
    "occupy": "called on a node, by its name",
    "read_left": "called on a node, by its name",
    "vacate": "called on a node, by its name",
}
"""Names that nothing uses by name, each with why it is there."""
CALLED = [
    "@*.command",
    "@*.callback",
    "@*validator",
    "@*serializer",
    "@event.listens_for",
    "@atexit.register",
    "@overload",
]
"""Decorators of what is called without being named."""

_TARGET = re.compile(rf"""["']((?:{"|".join(PACKAGES)})(?:\.\w+)+)(?::(\w+))?["']""")
"""A string that is a module, and perhaps a name in it."""
_FORMULA = re.compile(r'(?:[Mm]etric\(|_function\(|rows=)\s*"(\w+)\.(\w+)"')
"""A metric's formula, by its file and its name in the package of metrics."""
_ALL = re.compile(r"^__all__\b[^=]*= (?:\[[^\]]*\]|\([^)]*\))", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")


def unreached_modules(graph: grimp.ImportGraph, texts: dict[str, str], entries: set[str]) -> list[str]:
    """Return the modules that cannot be come to from the entry points, sorted.

    Args:
        graph: who imports whom, of modules that are only imported for types' sake too little.
        texts: each module's source.
        entries: where one begins.
    """
    reached: set[str] = set()
    waiting = set(entries)
    while waiting:
        name = waiting.pop()
        if name in reached or name not in texts:
            continue
        reached.add(name)
        named = {module for module, _ in _TARGET.findall(texts[name])}
        named |= {f"bot.evaluation.metrics.{file}" for file, _ in _FORMULA.findall(texts[name])}
        parents = {name.rpartition(".")[0]} - {""}
        waiting |= graph.find_modules_directly_imported_by(name) | named | parents
    return sorted(texts.keys() - reached)


def unused_names(sources: dict[Path, str], templates: list[str]) -> list[str]:
    """Return a line for each function, class, method and property that nothing uses.

    Args:
        sources: Python files.
        templates: Jinja files and the like, whose words are uses.
    """
    vulture = Vulture(ignore_names=list(UNUSED), ignore_decorators=CALLED)
    for path, text in sources.items():
        vulture.scan(_without_all(text), filename=path)
        vulture.used_names.update(name for _, name in (*_TARGET.findall(text), *_FORMULA.findall(text)) if name)
    for text in templates:
        vulture.used_names.update(_WORD.findall(text))
    found = vulture.get_unused_code(min_confidence=60)
    kinds = ("function", "class", "method", "property")
    return [f"{one.filename}:{one.first_lineno}: {one.typ} {one.name}" for one in found if one.typ in kinds]


def _without_all(text: str) -> str:
    """Blank what only says which names are public; lines keep their numbers."""
    return _ALL.sub(lambda found: "\n" * found[0].count("\n"), text)


def main() -> int:
    """Check the checkout; return an exit status."""
    product = [path for path in files(ROOT) if not path.relative_to(ROOT).as_posix().startswith(ELSEWHERE)]
    sources = {path.relative_to(ROOT): path.read_text(encoding="utf-8") for path in product if path.suffix == ".py"}
    templates = [path.read_text(encoding="utf-8") for path in product if path.suffix == ".j2"]
    texts = {".".join(path.with_suffix("").parts).removesuffix(".__init__"): text for path, text in sources.items()}
    targets = [target for points in entry_points().values() for target in points.values()]
    entries = {target.partition(":")[0] for target in targets} | STARTED.keys()
    graph = grimp.build_graph(*PACKAGES, exclude_type_checking_imports=True, cache_dir=None)
    found = [f"{name}: no entry point reaches this module" for name in unreached_modules(graph, texts, entries)]
    named = [*templates, *(target.partition(":")[2] for target in targets)]
    found += [f"{line} is used by no product code" for line in unused_names(sources, named)]
    for line in found:
        print(line)
    if found:
        print("Use it, move what serves tests into tests/, or remove it; tests/reach.py names the exceptions.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
