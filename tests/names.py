"""Names that do not say what they hold: pronouns, adverbs, bare participles and verbs.

`python -m tests.names [FOLDER...]` lists them.

Booleans may be participles: `deleted: bool` is good English. Compounds pass: `found_metric`, `rows_left`.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.source_tree import ROOT, sources

_WORDS = """
one ones other others both each every either neither some any few many most more less least several same such this that these
those ours theirs mine own who what which why how where whence here there then rest whole none nothing nobody somebody anything
everything enough at of by to on about above across again against ahead alike alone anew apart aside beside below beyond inside
into near late onward together under_way at_once in_all in_vain so_far answered asked asking begun bounded chosen compared
counted described done drawn dropped ended entered filled found gained given gone grown growing handed handed_in handing_in
heard held judged kept known lacking left left_out listed made measured moved named needed noticed numbered offered opened
ordered packed packing paired parted parting passed passing picked placed placing played polled predicted prepared preparing
printed put raced ranked refused repeated said saved scored seen sending sent shown spent spoiled staged stored taken told tried
unpacked used waiting wanted wished written began came ends gave goes goes_on has have holds knows lacks lasts ran saw says
stands takes took wants went
"""
VAGUE = frozenset(_WORDS.split())


def vague_names(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each variable, parameter, function, class or module that only says how it came about."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    annotated = [node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and _is_bool(node.annotation)]
    booleans = {id(node.target) for node in annotated}
    bound = [(1, path.stem, False)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.append((node.lineno, node.id, id(node) in booleans))
        elif isinstance(node, ast.arg):
            bound.append((node.lineno, node.arg, _is_bool(node.annotation)))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            bound.append((node.lineno, node.name, _is_bool(node.returns)))
        elif isinstance(node, ast.ClassDef):
            bound.append((node.lineno, node.name, False))
    for line, name, is_boolean in bound:
        if name.strip("_").lower() in VAGUE and not is_boolean and not name.startswith("__"):
            yield line, name


def _is_bool(annotation: ast.expr | None) -> bool:
    return annotation is not None and ast.unparse(annotation) == "bool"


if __name__ == "__main__":
    folders = [Path(argument).resolve() for argument in sys.argv[1:]] or [ROOT]
    for file in sources(ROOT):
        if any(file.is_relative_to(folder) for folder in folders):
            for number, vague in vague_names(file):
                print(f"{file.relative_to(ROOT)}:{number}: {vague}")
