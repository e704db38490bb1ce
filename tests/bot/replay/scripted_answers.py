"""A scripted model behind HTTP: plain answers to every kind of prompt, chosen by what the system message asks for."""

import json
import re

from tests.scripted_endpoint import Reply, Request

SCRIPT = """
import csv
import numpy as np  # alone: pandas and scikit-learn take seconds to import

def read(name):
    with open(f"data/{{name}}.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows, np.array([[1.0, float(row["a"]), float(row["b"])] for row in rows])

rows, features = read("train")
labels = np.array([float(row["label"]) for row in rows])
penalty, weights = np.diag([0.0, 1.0, 1.0]) / {c}, np.zeros(3)
for _ in range(20):  # Newton's steps of a logistic regression
    p = 1 / (1 + np.exp(-features @ weights))
    slope = features.T @ (labels - p) - penalty @ weights
    weights += np.linalg.solve(features.T @ (features * (p * (1 - p))[:, None]) + penalty, slope)
for name, out in (("test", "submission.csv"), ("validation", "validation_predictions.csv")):
    rows, features = read(name)
    with open(out, "w", newline="") as file:
        csv.writer(file).writerows([("id", "label"), *zip((row["id"] for row in rows), 1 / (1 + np.exp(-features @ weights)))])
print("C={c}")
"""


def script(c: float) -> str:
    """Return an answer with a script."""
    return f"A linear model with C={c}.\n\n```python\n{SCRIPT.format(c=c)}\n```\n"


def planned(user: str) -> int:
    """Return how many drafts are asked for."""
    asked = re.search(r"Plan (?:1 to (\d+)|one) draft", user)
    return int(asked[1] or 1)


def read_in(user: str) -> list[str]:
    """Return the documents of a prompt for reading."""
    return re.findall(r"^## ((?:topic|kernel)/[\w-]+)$", user, re.MULTILINE)


class Answers:
    """Answers like an obedient model; counts the scripts that it wrote."""

    def __init__(self) -> None:
        self.scripts = 0

    def __call__(self, request: Request) -> Reply | str:
        """Answer one request."""
        system, user = (str(m["content"]) for m in request.body["messages"][:2])
        if "You read what a Kaggle community posts" in system:
            scores = dict.fromkeys(("novelty", "feasibility", "effectiveness", "efficiency"), 6)
            found = {"summary": "a linear model", "suggestions": ["logistic regression on a and b"], **scores}
            return json.dumps({"documents": [{"id": item, **found} for item in read_in(user)]})
        if "You keep the idea pool" in system:
            return json.dumps(
                {
                    "add": [
                        {"text": "logistic regression on a and b", "sources": ["topic/1"] if "topic/1" in user else []}
                    ]
                }
            )
        if "You coordinate a team" in system:
            drafts = [
                {"title": "Linear", "description": "logistic regression on a and b", "ideas": [1], "codebase": 1},
                {"title": "Other", "description": "the same with another penalty", "ideas": [], "codebase": None},
            ]
            return "Here they are:\n" + json.dumps(
                {"drafts": (drafts[1:] if "# Open drafts" in user else drafts)[: planned(user)]}
            )
        if "You label machine-learning tasks" in system:
            return json.dumps({"labels": ["tabular/classification", "method/metric"]})
        if "You write the report" in system:
            return json.dumps({"method": "linear", "numbers": "as measured"})
        if "You review runs" in system:
            return json.dumps({"summary": "it works"})
        self.scripts += 1
        return Reply(script(10.0 / self.scripts), prompt_tokens=500, completion_tokens=300)


PREDICT = """
import array, csv, math, sys  # numpy takes a second to import
for role, table in (("oof", "train"), ("validation", "validation"), ("test", "test")):
    with open(f"data/{table}.csv") as file:  # the same formula for all rows
        x = [2 * float(row["a"]) - float(row["b"]) for row in csv.DictReader(file)]
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({len(x)},), }}".ljust(117) + "\\n"
    with open(f"{role}.npy", "wb") as file:
        file.write(b"\\x93NUMPY\\x01\\x00" + len(head).to_bytes(2, "little") + head.encode())
        array.array("d", [1 / (1 + math.exp(-float(sys.argv[1]) * one)) for one in x]).tofile(file)
"""
FILES = "--oof oof.npy --validation validation.npy --test test.npy"


def typed(name: str, text: str, then: str) -> str:
    """Return a command that writes a file and goes on."""
    return f"cat > {name} <<'EOF'\n{text}\nEOF\n{then}"


INTERRUPTED = re.compile(r"\[interrupted")
"""In what a coder sees of a command whose bot was killed: it types it again, as what was logged or scored costs nothing."""


class LabAnswers(Answers):
    """Answers like a coder in a lab too, by native tool calls: experiments, a note, and a report."""

    COMMANDS = (
        "ls data; lab status",
        typed("predict.py", PREDICT, f"python predict.py 0 && lab log constant {FILES}"),
        f"python predict.py 0.1 && lab log weak {FILES} --note weak --files predict.py",
        "sleep 0.5 & lab note 'a and b matter'",
        f"python predict.py 1 && lab log strong {FILES} --note strong --files predict.py",
        "lab board",
        "printf 'method: linear\\ncomponents: a and b\\n' | lab done",
    )

    def __init__(self, **usage: int) -> None:
        """Take what each turn of a lab takes, as `Reply` has it."""
        super().__init__()
        self._usage = usage or {"prompt_tokens": 500, "completion_tokens": 300}

    def __call__(self, request: Request) -> Reply | str:
        """Answer one request; what was lost or interrupted is typed again."""
        if "tools" not in request.body:
            return super().__call__(request)
        seen = [str(m["content"]) for m in request.body["messages"][2:] if m["role"] != "assistant"]
        turn = sum(not INTERRUPTED.search(text) and "No command was found" not in text for text in seen)
        command = self.COMMANDS[min(turn, len(self.COMMANDS) - 1)]
        return Reply(calls=[json.dumps({"command": command})], **self._usage)
