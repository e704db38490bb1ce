"""Levenshtein's edit distance: how many insertions, deletions and substitutions make one sequence another."""

from collections.abc import Hashable, Sequence


def edit_distance(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Return the least number of insertions, deletions and substitutions of one element that make `left` `right`.

    Hyyrö's form of Myers' bit-vector algorithm ("A bit-vector algorithm for computing Levenshtein and Damerau edit
    distances", 2003): a column of the table is a pair of whole numbers, whose bits say where the distance rises and where it
    falls, so that a row of the table costs a dozen operations. What both begin and end with is cut off first.
    """
    left, right = _unequal(left, right)
    if not left or not right:
        return len(left) + len(right)
    places: dict[Hashable, int] = {}
    for place, element in enumerate(left):
        places[element] = places.get(element, 0) | 1 << place
    last = 1 << len(left) - 1
    every = (last << 1) - 1
    rises, falls, distance = every, 0, len(left)
    for element in right:
        equal = places.get(element, 0)
        diagonal = (((equal & rises) + rises) ^ rises) | equal | falls
        up = falls | ~(diagonal | rises)
        down = rises & diagonal
        if up & last:
            distance += 1
        elif down & last:
            distance -= 1
        up = up << 1 | 1
        rises = (down << 1 | ~(diagonal | up)) & every
        falls = up & diagonal & every
    return distance


def _unequal(left: Sequence[Hashable], right: Sequence[Hashable]) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
    shorter = min(len(left), len(right))
    begin = 0
    while begin < shorter and left[begin] == right[begin]:
        begin += 1
    end = 0
    while end < shorter - begin and left[-1 - end] == right[-1 - end]:
        end += 1
    return left[begin : len(left) - end], right[begin : len(right) - end]
