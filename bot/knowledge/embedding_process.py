"""The process of `EmbeddingSimilarity`: embeds texts by sentence-transformers.

It is run by its path, by an interpreter that need not have the bot. A request is a line of JSON, and so is its answer.
"""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

Embed = Callable[[Sequence[str]], Any]


def main() -> None:
    """Answer requests until there are no more; the model's folder is the argument."""
    # Libraries may print; what they print must not end up between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    embed: Embed | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            embed = embed or _load(sys.argv[1])
            # Vectors are of length 1.
            query_vector, *vectors = embed([request["query"], *request["texts"]])
            answer: dict[str, Any] = {"scores": [float(query_vector @ vector) for vector in vectors]}
        except (ImportError, OSError, RuntimeError, ValueError) as error:
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:500]}
        print(json.dumps(answer), file=answers, flush=True)


def _load(folder: str) -> Embed:
    if not os.path.isdir(folder):  # noqa: PTH112 - a name that is no folder would be looked for in a hub
        raise FileNotFoundError(f"no such folder: {folder}")
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu", local_files_only=True)
    vectors_by_text: dict[str, Any] = {}

    def embed(texts: Sequence[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in vectors_by_text]
        if new:
            vectors = model.encode(new, normalize_embeddings=True, show_progress_bar=False)
            vectors_by_text.update(zip(new, vectors, strict=True))
        return [vectors_by_text[text] for text in texts]

    return embed


if __name__ == "__main__":
    main()
