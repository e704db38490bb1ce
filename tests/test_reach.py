"""The check of `make lint`: it finds what no product code uses, and nothing else."""

from pathlib import Path

import grimp

from tests.reach import unreached_modules, unused_names


def names(source: str, *templates: str) -> list[str]:
    return [line.partition(": ")[2] for line in unused_names({Path("one.py"): source}, list(templates))]


def test_what_is_only_public_or_only_imported_is_unused() -> None:
    source = '__all__ = [\n    "alone",\n]\nfrom two import shown\n\n\ndef alone() -> None: ...\n'
    assert names(source) == ["function alone"]
    assert names(source + "\n\nalone()\n") == []


def test_methods_and_properties_count_and_templates_use_them() -> None:
    source = "class A:\n    @property\n    def shown(self): ...\n    def told(self): ...\n\n\nA()\n"
    assert sorted(names(source)) == ["method told", "property shown"]
    assert names(source, "{{ a.shown }} {{ a.told() }}") == []


def test_what_a_string_names_is_used() -> None:
    assert names('OPS = {"a": "bot.evaluation.ops:alone"}\n\n\ndef alone() -> None: ...\n') == []


def test_modules_are_reached_by_imports_by_strings_and_as_the_packages_of_others() -> None:
    graph = grimp.ImportGraph()
    for name in ("bot", "bot.x", "bot.child", "bot.spoken"):
        graph.add_module(name)
    graph.add_import(importer="bot.a", imported="bot.x.b")
    graph.add_import(importer="bot.lost", imported="bot.a")
    texts = dict.fromkeys(("bot", "bot.a", "bot.x", "bot.lost", "bot.spoken"), "")
    texts |= {"bot.x.b": 'PROGRAM = "bot.child"', "bot.child": '"""Like `bot.spoken`, said bot.spoken."""'}
    assert unreached_modules(graph, texts, {"bot.a"}) == ["bot.lost", "bot.spoken"]
