"""Names of competitions, as people write them."""

import re

_ADDRESS = re.compile(
    r"(?:https?:/{1,2})?(?:www\.)?kaggle\.com/(?:competitions|c)/([^/?#]+)(?:[/?#].*)?", re.IGNORECASE
)


def slug_of(text: str) -> str:
    """Return the name of a competition whose address on Kaggle is given; any other text is returned as it is."""
    found = _ADDRESS.fullmatch(text.strip())
    return found[1] if found else text
