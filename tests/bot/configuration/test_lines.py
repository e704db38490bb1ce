"""Where keys stand in a TOML text: exactly where tomllib finds them, whatever the layout."""

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.configuration.lines import KeyPath, Lines, scan

TEXT = '''# a comment with = and [brackets]
"plain key" = 1
a.b."c.d" = 'lit#eral'   # [no.table]

[table] # here
multi = """
[not.a.table]
x = 1 \\""" still
""""
raw = \'\'\'
y = 'no' \'\'\'
time = 1979-05-27 07:32:00Z
list = [ # first
  1,
  { inner = [ "]" , '}' ], 'q' . r = 2 },
  # nothing
]
[[many]]
x = 1
[[many.deep]]
y = 1
[[many.deep]]
[many.deep.below]
z = 2
[[many]]
[[many.deep]]
y = 3
'''


def paths(value: Any, above: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield the path of everything that a parsed text holds."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*above, key)
        yield from paths(inner, (*above, key))


def test_everything_is_found_on_its_line() -> None:
    lines = scan(TEXT)
    assert set(lines.line_of) == set(paths(tomllib.loads(TEXT)))
    expected = {
        ("plain key",): 2,
        ("a", "b", "c.d"): 3,
        ("table",): 5,
        ("table", "raw"): 10,
        ("table", "list", 1): 13,
        ("table", "list", 1, "q", "r"): 13,
        ("many", 0): 18,
        ("many", 0, "deep", 1): 22,
        ("many", 0, "deep", 1, "below", "z"): 24,
        ("many", 1, "deep", 0, "y"): 27,
    }
    assert {path: lines.line_of[path] for path in expected} == expected
    assert lines.line(("table", "absent", "key")) == 5


KEYS = st.sampled_from(["a", "b-1", "c_2", '"d.e"', "'f#'", '"g\\u0041"', '""'])
BREAKS = st.sampled_from(["", " ", "\t", "\n", ' # it\'s "so" ]\n', "\n\n  "])
SCALARS = st.sampled_from(
    ["1", "true", "-1_000", "1e5", "inf", "0xff", "1979-05-27 07:32:00", "07:32:00", '"a # b"', "'c\\'", '"\\"]"']
)
TEXTS = st.sampled_from(['"""x\ny = 1\n"""', '"""\\""""""', "'''z\n[t]'''", "''", '""', '""""""', "''''a'''''"])


@st.composite
def arrays(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    inside = "".join(f"{draw(BREAKS)}{value}{draw(BREAKS)}," for value in draw(st.lists(values, max_size=3)))
    return f"[{inside}{draw(BREAKS)}]"


@st.composite
def inline_tables(draw: st.DrawFn, values: st.SearchStrategy[str]) -> str:
    pairs = draw(st.dictionaries(KEYS, values, max_size=3))
    return "{" + ", ".join(f" {key} = {value}" for key, value in pairs.items()) + " }"


VALUES = st.recursive(SCALARS | TEXTS, lambda values: arrays(values) | inline_tables(values), max_leaves=6)
DOTTED = st.lists(KEYS, min_size=1, max_size=3).map(" . ".join)
STATEMENTS = st.one_of(
    st.builds("{} ={}{}\n".format, DOTTED, st.sampled_from(["", "  "]), VALUES),
    st.builds("[{}]\n".format, DOTTED),
    st.builds("[[ {} ]] # c\n".format, DOTTED),
    BREAKS.map(lambda text: text + "\n"),
)


@given(st.lists(STATEMENTS, max_size=8).map("".join))
def test_a_text_that_tomllib_takes_is_found_whole(text: str) -> None:
    lines = scan(text)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    assert set(lines.line_of) == set(paths(content))


@given(st.text(alphabet="ab=.[]{}\"'#\\\n ,1"))
def test_what_is_no_toml_is_read_as_far_as_it_goes(text: str) -> None:
    assert isinstance(scan(text), Lines)
