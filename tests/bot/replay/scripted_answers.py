"""A scripted model behind HTTP: plain answers to every kind of prompt, chosen by what the system message asks for."""

import json

from tests.scripted_endpoint import Reply, Request

SCRIPT = """
import pandas as pd
train, test = pd.read_csv("data/train.csv"), pd.read_csv("data/test.csv")
rows, sample = pd.read_csv("data/validation.csv"), pd.read_csv("data/sample_submission.csv")
from sklearn.linear_model import LogisticRegression
features = ["a", "b"]
model = LogisticRegression(C={c}).fit(train[features], train["label"])
for table, name in ((test, "submission.csv"), (rows, "validation_predictions.csv")):
    pd.DataFrame({{"id": table["id"], "label": model.predict_proba(table[features])[:, 1]}}).to_csv(name, index=False)
print("C={c}")
"""


def script(c: float) -> str:
    """Return an answer with a script."""
    return f"A linear model with C={c}.\n\n```python\n{SCRIPT.format(c=c)}\n```\n"


class Answers:
    """Answers like a model that does as it is told; counts the scripts that it wrote."""

    def __init__(self) -> None:
        self.scripts = 0

    def __call__(self, request: Request) -> Reply | str:
        """Answer one request."""
        system, user = (str(m["content"]) for m in request.body["messages"][:2])
        if "You read what a Kaggle community posts" in system:
            scores = dict.fromkeys(("novelty", "feasibility", "effectiveness", "efficiency"), 6)
            return json.dumps(
                {"summary": "a linear model", "suggestions": ["logistic regression on a and b"], **scores}
            )
        if "You keep the idea pool" in system:
            return json.dumps(
                {
                    "ideas": [
                        {
                            "text": "logistic regression on a and b",
                            "sources": ["message/11"] if "message/11" in user else [],
                        }
                    ]
                }
            )
        if "You coordinate a team" in system:
            drafts = [
                {"title": "Linear", "description": "logistic regression on a and b", "ideas": [1], "codebase": 1},
                {"title": "Other", "description": "the same with another penalty", "ideas": [], "codebase": None},
            ]
            return "Here are two drafts:\n" + json.dumps({"drafts": drafts})
        if "You write the report" in system:
            return json.dumps({"method": "linear", "numbers": "as measured"})
        if "You review runs" in system:
            return json.dumps({"summary": "it works"})
        self.scripts += 1
        return Reply(script(10.0 / self.scripts), prompt_tokens=500, completion_tokens=300)
