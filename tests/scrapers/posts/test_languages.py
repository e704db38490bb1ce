"""Languages by one name each."""

import pytest

from scrapers.posts.kernel_text import language_named, language_of_file


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("Python", "python"), ("python3", "python"), ("python3.11", "python"), ("ir", "r"), ("R", "r"), ("rmarkdown", "r"),
        ("sqlite", "sql"), ("julia-1.6", "julia"), ("scala", "scala"), ("C++", "c++"),
        ("ipynb", None), ("script", None), ("", None), (None, None), (3, None), ("a\nb", None), ("x" * 40, None),
    ],
)  # fmt: skip
def test_a_language_has_one_name(name: object, language: str | None) -> None:
    assert language_named(name) == language


def test_a_suffix_gives_a_language() -> None:
    assert [language_of_file(name) for name in ("a.py", "b.R", "../../c.Rmd", "d\\e.jl", "f.ipynb", "g")] == [
        "python", "r", "r", "julia", None, None,
    ]  # fmt: skip
