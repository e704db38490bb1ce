"""The built-in model: rules that answer typed prompts in text, without a key."""

import json
import re
from typing import Any

from bot.agents.builtin import coding, ideas, plans, posts, reports
from bot.agents.builtin.coding import baseline_script
from bot.agents.builtin.posts import failures, is_hostile, suggestions
from bot.agents.builtin.techniques import how, named_in
from bot.agents.tree.automind_prompts import PlanSolution, ScorePlan, SplitPlan, WriteSubstep
from bot.agents.tree.rag_prompts import PickPosts, SummarisePost
from bot.coder.prompts import ReviewRun, WriteScript
from bot.community.drafts.prompts import PlanDrafts
from bot.community.drafts.reporting import WriteReport
from bot.community.ideas.prompts import ProposeIdeas
from bot.community.reading.prompts import ReadPosts
from bot.community.reading.suspicion import steering
from bot.community.reproduction.repair import RepairKernel
from bot.curation.prompts import MOST_TRICKS, ExtractTricks
from bot.engine.services import BuiltIn
from bot.knowledge.labels import labels_in
from bot.knowledge.prompts import LabelTask
from bot.models import AnswerT, CallLimits, Completion, Prompt, Usage
from bot.models.completion import estimated_tokens
from state.errors import ModelRefused

_PLAIN = "tabular/classification"
"""Where no word shows what kind of task it is."""
_MOST_LABELS = 3
_PICKED = 2
_RENAMED = tuple(
    (re.compile(old), new)
    for old, new in (
        (r"\bsklearn\.(?:cross_validation|grid_search|learning_curve)\b", "sklearn.model_selection"),
        (r"\bfrom sklearn\.externals import joblib\b", "import joblib"),
        (r"\bfrom sklearn\.externals\.joblib\b", "from joblib"),
        (r"\bfrom sklearn\.preprocessing import Imputer\b", "from sklearn.impute import SimpleImputer as Imputer"),
        (r"\bget_feature_names\(\)", "get_feature_names_out()"),
        (r"\bOneHotEncoder\(sparse=", "OneHotEncoder(sparse_output="),
        (r"\bloss=(['\"])log\1", "loss='log_loss'"),
        (r"\bmax_features=(['\"])auto\1", "max_features='sqrt'"),
        (r"\bbase_estimator=", "estimator="),
        (r"\bnp\.(int|float|bool|object|str)\b(?!_)", r"\1"),
        (r"\.as_matrix\(\)", ".values"),
        (r"\.ix\[", ".loc["),
        (r"(\w+)\.append\((\w+), ignore_index=True\)", r"pd.concat([\1, \2], ignore_index=True)"),
        (r"\.iteritems\(\)", ".items()"),
        (r"\bxrange\(", "range("),
        (r"\bunicode\(", "str("),
        (r"\bimport cPickle as\b", "import pickle as"),
        (r"\bfrom StringIO import\b", "from io import"),
        (r"\bpd\.read_csv\(([^()]*), error_bad_lines=False", r"pd.read_csv(\1, on_bad_lines='skip'"),
        (r", squeeze=True\)", ").squeeze('columns')"),
    )
)
__all__ = ["BUILT_IN", "NAME", "BuiltinModel", "baseline_script"]

NAME = "builtin"


class BuiltinModel:
    """A baseline and a fallback; equal prompts and seeds give equal answers, however long things take."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Answer one prompt by the rule of its kind; `role` and `limits` have no effect, as no call is slow or costs money.

        Raises:
            ModelRefused: there is no rule for this prompt.
            Unparsable: a rule's answer broke the prompt's format, which is an error of ours.
        """
        text = self._reply(prompt)
        usage = Usage(sum(estimated_tokens(m.content) for m in prompt.messages()), estimated_tokens(text))
        return Completion(prompt.parse(text), text, usage, NAME, 0.0)

    def _reply(self, prompt: Prompt[Any]) -> str:
        match prompt:
            case ReadPosts():
                return posts.read(prompt)
            case ProposeIdeas():
                return ideas.propose(prompt)
            case PlanDrafts():
                return ideas.plan(prompt)
            case WriteScript():
                return coding.reply(prompt, self._seed)
            case RepairKernel():
                return repair_kernel(prompt)
            case ReviewRun():
                return reports.review(prompt)
            case LabelTask():
                return label_task(prompt)
            case ExtractTricks():
                return extract_tricks(prompt)
            case WriteReport():
                return reports.report(prompt)
            case PickPosts():
                return pick_posts(prompt)
            case SummarisePost():
                return summarise_post(prompt)
            case PlanSolution():
                return plans.plan(prompt, self._seed)
            case ScorePlan():
                return plans.complexity(prompt)
            case SplitPlan():
                return plans.split(prompt)
            case WriteSubstep():
                return plans.substep(prompt)
        raise ModelRefused(f"the built-in model has no rule for the prompt {prompt.name!r}")


BUILT_IN = BuiltIn(BuiltinModel, baseline_script)


def repair_kernel(prompt: RepairKernel) -> str:
    """Answer `repair_kernel`; raises ModelRefused where no name in the script is known to be replaced."""
    script = prompt.script
    for old, new in _RENAMED:
        script = old.sub(new, script)
    if script == prompt.script:
        raise ModelRefused("no name in the script is known to be replaced in newer packages")
    return f"Names that newer packages have replaced.\n\n```python\n{script}```\n"


def pick_posts(prompt: PickPosts) -> str:
    """Answer `pick_posts`: titles that name a technique go first, those read before last; of equals the earlier ones."""
    sound = [one for one in prompt.shown if steering(one.title, "") is None]
    ranked = sorted(sound, key=lambda one: (one.read, not named_in(one.title)))
    return json.dumps({"pick": [one.item.id for one in ranked[:_PICKED]]})


def summarise_post(prompt: SummarisePost) -> str:
    """Answer `summarise_post` with the techniques that its sound posts suggest, without their words."""
    sound = [post for post in prompt.document.posts if not is_hostile(post)]
    found = list(dict.fromkeys(title for post in sound for title in suggestions(post)))
    failed = [f'No gain, it says: "{sentence}"' for post in sound for sentence in failures(post)][:2]
    left_out = (
        ["It holds orders to its readers, of which nothing is taken."]
        if len(sound) < len(prompt.document.posts)
        else []
    )
    lines = [f"Recommends: {how(title)}" for title in found] or ["It recommends nothing that could be tried."]
    return "\n".join((*lines, *failed, *left_out))


def label_task(prompt: LabelTask) -> str:
    """Answer `label_task`."""
    text = "\n".join((prompt.title, prompt.metric, prompt.description, prompt.preview))
    return json.dumps({"labels": labels_in(text) or [_PLAIN]})


def extract_tricks(prompt: ExtractTricks) -> str:
    """Answer `extract_tricks` with the techniques that the document suggests, each with its sentence."""
    found = {title: said for post in prompt.document.posts for title, said in suggestions(post).items()}
    kinds = labels_in(f"{prompt.competition}\n{prompt.metric}\n{prompt.description}")[:_MOST_LABELS] or [_PLAIN]
    made = [
        {
            "title": f"{title[:1].upper()}{title[1:]}",
            "claim": f"{how(title)} Try it on tasks of this kind, and measure it with and without.",
            "labels": kinds,
            "support": "reported",
            "evidence": f'The post says: "{said}"'[:1_000],
        }
        for title, said in list(found.items())[:MOST_TRICKS]
    ]
    return json.dumps({"tricks": made}, ensure_ascii=False)
