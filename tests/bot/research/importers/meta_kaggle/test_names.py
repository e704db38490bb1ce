"""Names, handles and addresses in texts."""

import pytest

from bot.research.importers.meta_kaggle.names import NameRemover

NAMES = NameRemover(
    [
        (1, "ada_l", "Ada Lovelace"),
        (2, "grace", "Grace Brewster Hopper"),
        (3, "forest", "Random Forest"),
        (4, None, "Ana"),
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("thanks @Ada_L and @stranger-1", "thanks @author-1 and @someone"),
        ("by Ada Lovelace and Grace Brewster Hopper.", "by author-1 and author-2."),
        ("Dear Ada Lovelace Fans", "Dear author-1 Fans"),
        ("Random Forest, Ana, Ada", "Random Forest, Ana, Ada"),
        ("[@grace](/grace) [rules](/competitions/x)", "[@author-2](/author-2) [rules](/competitions/x)"),
        ("https://www.kaggle.com/code/grace/eda?x=1", "https://www.kaggle.com/code/author-2/eda?x=1"),
        ("https://www.kaggle.com/datasets/stranger/d", "https://www.kaggle.com/datasets/someone/d"),
        ("kaggle.com/users/123/grace kaggle.com/c/titanic", "kaggle.com/users/123/author-2 kaggle.com/c/titanic"),
        ("mail a.b+c@mail.example.co.uk, or user@host", "mail [e-mail address], or user@host"),
        ("score 0.5@k, a @ b and `@property`", "score 0.5@k, a @ b and `@property`"),
        ("```\n@jit\nx@y.T\n``` @jit", "```\n@jit\nx@y.T\n``` @someone"),
    ],
)
def test_a_post_loses_what_names_people(text: str, expected: str) -> None:
    assert NAMES.clean_post(text) == expected


def test_code_keeps_decorators_and_products() -> None:
    code = "@grace\nz = x@beta.mean() @ w  # Ada Lovelace, ada@corp.com"
    assert NAMES.clean_source(code) == "@grace\nz = x@beta.mean() @ w  # author-1, [e-mail address]"
