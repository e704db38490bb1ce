"""Names, handles and addresses in texts."""

import pytest

from bot.research.importers.meta_kaggle.names import NameRemover, Participant, find_full_names

AT = "2024-02-01T00:00:00Z"
LATER = "2024-03-01T00:00:00Z"
NAMES = NameRemover(
    [
        Participant(1, "ada_l", "Ada Lovelace", AT),
        Participant(2, "grace", "Grace Brewster Hopper", AT),
        Participant(3, "forest", "Random Forest", AT),
        Participant(4, None, "Will", AT),
        Participant(5, "keras", "Keras", AT),
        Participant(6, "anna77", "Anna Kowalska", AT),
        Participant(7, "annab", "Anna Bauer", AT),
        Participant(8, "zoe", "Zoe-Marie Curie", LATER),
        Participant(9, "lm", "李明", AT),
        Participant(10, "yt", "山田 太郎", AT),
        Participant(11, "kcs", "김철수", AT),
        Participant(12, "ip", "Иван Петров", AT),
        Participant(13, "rk", "राजेश कुमार", AT),
        Participant(14, "so", "Søren Ågren", AT),
        Participant(None, "fastguy", "Giulia Rossi"),
        Participant(None, "poe", "Poe"),
    ],
    ["Jeremy Howard", "strange1", "Mary Shelley"],
    ["Bob", "Linda", "Mary"],
    "Who wrote it: Poe or Mary Shelley? A text of Poe.",
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("thanks @Ada_L and @stranger-1", "thanks @author-1 and @someone"),
        ("by Ada Lovelace and Grace Brewster Hopper.", "by author-1 and author-2."),
        ("ada lovelace's, Ada's and Kowalska's", "author-1's, author-1's and author-6's"),
        ("as anna77 and annab wrote to Ada", "as author-6 and author-7 wrote to author-1"),
        ("Dear Ada Lovelace Fans", "Dear author-1 Fans"),
        ("See Anna: either", "See someone: either"),
        ("what zoe and Zoe-Marie wrote", "what someone and someone-someone wrote"),
        ("fast.ai by Jeremy Howard, and strange1", "fast.ai by someone, and someone"),
        ("It is\nfrom Grace. x = '@grace'", "It is\nfrom author-2. x = '@author-2'"),
        ("with Giulia, not in giulia", "with someone, not in giulia"),
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
    assert NAMES.clean_post(text, AT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thanks Bob, it works", "Thanks someone, it works"),
        ("thank you so much Heng Cherkeng!", "thank you so much someone!"),
        ("Hi anna, hello Grace. Hi Will!", "Hi someone, hello author-2. Hi author-4!"),
        ("It works.\n\nRegards,\nTheodora Smith", "It works.\n\nRegards,\nsomeone"),
        ("It works.\n\n- Will", "It works.\n\n- author-4"),
        ("Thanks Bo Keras is fine. Thanks Adam! Hi Mark", "Thanks Bo Keras is fine. Thanks someone! Hi someone"),
        ("Congrats Julia and Sam on gold, dear Dr. Miller", "Congrats someone and someone on gold, dear Dr. someone"),
    ],
)
def test_who_is_addressed_or_signs_goes(text: str, expected: str) -> None:
    assert NAMES.clean_post(text, AT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("感谢李明的分享，谢谢Ada的分享", "感谢author-9的分享，谢谢author-1的分享"),
        ("山田さん、山田太郎さん", "author-10さん、author-10さん"),
        ("김철수님 감사합니다", "author-11님 감사합니다"),
        ("Спасибо, Иван, и Петров", "Спасибо, author-12, и author-12"),
        ("धन्यवाद राजेश जी", "धन्यवाद author-13 जी"),
        ("Soren or Agren, A\u030agren", "author-14 or author-14, author-14"),
    ],
)
def test_names_in_any_script_and_without_accents_go(text: str, expected: str) -> None:
    assert NAMES.clean_post(text, AT) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("as Bob wrote, Linda's kernel and Linda is right", "as someone wrote, someone's kernel and someone is right"),
        ("Bob, could you ask Linda?\nGood luck, Bob!", "someone, could you ask someone?\nGood luck, someone!"),
        ("Bob Dylan, the Bob dataset, by Lindane", "Bob Dylan, the Bob dataset, by Lindane"),
        ("from Linda import bob", "from Linda import bob"),
        ("by Mary, of Mary Shelley and Poe", "by Mary, of Mary Shelley and Poe"),
    ],
)
def test_a_common_first_name_goes_where_it_is_that_of_a_person(text: str, expected: str) -> None:
    assert NAMES.clean_post(text, AT) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Random Forest and Keras: a forest in keras. Will it work? It will.",
        "Hi, I'm new. Hi I'm new",
        "Hello World, hi there, Hi All and Thanks Everyone",
        "Thanks for sharing! thanks to Kaggle. Thanks Kagglers",
        "The train set has\n\n- Age\n- Pclass",
        "Adam, Gauss, Bayes, Bert and Euler's number by Google. Thanks Adam converges. In May, Mark the Titanic",
        "Iris, Jordan and Paris, with Xavier initialisation from Colab",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    assert NAMES.clean_post(text, AT) == text


def test_who_has_not_posted_yet_has_no_number() -> None:
    assert NAMES.clean_post("@zoe", AT) == "@someone"
    assert NAMES.clean_post("@zoe", LATER) == "@author-8"


def test_code_keeps_decorators_products_and_identifiers() -> None:
    code = "@grace\nz = x@beta.mean() @ w  # Ada Lovelace, ada@corp.com\nimport annab\nannab.fit(zoe=1)  # by anna77"
    cleaned = (
        "@grace\nz = x@beta.mean() @ w  # author-1, [e-mail address]\nimport annab\nannab.fit(zoe=1)  # by author-6"
    )
    assert NAMES.clean_source(code, AT) == cleaned


def test_names_of_others_are_looked_for_in_links_mentions_and_capital_words() -> None:
    text = "See kaggle.com/ann1 and @bob2, by Jean-Luc De Funes. `@jit` It"
    assert {"ann1", "bob2", "Jean-Luc De", "Jean-Luc De Funes", "De Funes"} == set(find_full_names(text))
