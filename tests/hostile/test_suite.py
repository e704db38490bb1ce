"""The suite itself, without running it: what it holds, what the documents say of it, and that nothing of ours unpickles."""

import ast
import re
from collections import Counter

import pytest

from sandbox import Limits
from tests.hostile.attack import BACK_ENDS, Attack, under
from tests.hostile.suite import ATTACKS, FAMILIES
from tests.hostile.table import BEGIN, END, PAGE, in_document
from tests.source_tree import ROOT, sources

UNPICKLING = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "jsonpickle",
    "joblib",
    "torch",
}


def test_there_are_many_attacks_each_with_a_name_of_its_own() -> None:
    assert len(ATTACKS) >= 45
    assert [name for name, count in Counter(attack.name for attack in ATTACKS).items() if count > 1] == []
    assert sum(attack.reduced for attack in ATTACKS) >= 20
    assert sum(bool(attack.open) for attack in ATTACKS) >= 8


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_says_all_that_it_is_judged_by(attack: Attack) -> None:
    tree = ast.parse(attack.source())
    imported = {
        alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    assert not imported & {"numpy", "pandas", "sklearn"}  # an image may lack them
    assert attack.answers, "nothing would show that it ran"
    assert attack.tries.endswith(".")
    for back_end in BACK_ENDS:
        assert under(back_end, attack.ends)
        re.compile(under(back_end, attack.notes))
        assert all(under(back_end, words) for words in attack.answers.values())


def test_the_limits_that_are_tried_are_the_documented_ones() -> None:
    limits = Limits(seconds=1)
    assert (limits.memory_bytes, limits.processes) == (4 * 1024**3, 256)
    assert (limits.written_bytes, limits.files, limits.output_bytes) == (2 * 1000**3, 50_000, 1_000_000)


def test_the_documents_have_the_table_of_the_suite() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert BEGIN in text and END in text
    assert in_document(text) == text, "run make docs"
    assert all(family.bubblewrap and family.docker for family in FAMILIES)


def test_nothing_of_ours_can_unpickle_what_scripts_leave() -> None:
    found = []
    words = re.compile("|".join([*UNPICKLING, "read_pickle", "allow_pickle"]))
    for path in sources(ROOT):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if words.search(text) else ():
            if _unpickles(node):
                found.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}")
    assert found == []


def _unpickles(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(alias.name.split(".")[0] in UNPICKLING for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return (node.module or "").split(".")[0] in UNPICKLING
    if isinstance(node, ast.Attribute):
        return node.attr == "read_pickle"
    if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
        return not (isinstance(node.value, ast.Constant) and node.value.value is False)
    return False
