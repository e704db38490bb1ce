"""The edit distance of two texts or lists.

A file by itself that imports no other of the bot: a competition's own grader is given it as the module `Levenshtein`, which some
of MLE-bench's import.
"""

from collections.abc import Hashable, Sequence


def distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Return the least number of insertions, deletions and substitutions of one element that make `first` `second`.

    Hyyrö's form of Myers' bit-vector algorithm ("A bit-vector algorithm for computing Levenshtein and Damerau edit
    distances", 2003): a column of the table is a pair of whole numbers, whose bits say where the distance rises and where it
    falls, so that a row of the table costs a dozen operations.
    """
    if not first or not second:
        return len(first) + len(second)
    places: dict[Hashable, int] = {}
    for place, element in enumerate(first):
        places[element] = places.get(element, 0) | 1 << place
    last = 1 << len(first) - 1
    all_bits = (last << 1) - 1
    rises, falls, steps = all_bits, 0, len(first)
    for element in second:
        equal = places.get(element, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        up = falls | ~(diagonal | rises)
        down = rises & diagonal
        if up & last:
            steps += 1
        elif down & last:
            steps -= 1
        up = up << 1 | 1
        rises = (down << 1 | ~(diagonal | up)) & all_bits
        falls = up & diagonal & all_bits
    return steps
