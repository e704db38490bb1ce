"""The repair of a public kernel: names that newer packages have replaced, if its text uses any."""

import re

from bot.community.reproduction.repair import RepairKernel
from state.errors import ModelRefused

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


def repair(prompt: RepairKernel) -> str:
    """Answer `repair_kernel`; raises ModelRefused where no name in the script is known to be replaced."""
    script = prompt.script
    for old, new in _RENAMED:
        script = old.sub(new, script)
    if script == prompt.script:
        raise ModelRefused("no name in the script is known to be replaced in newer packages")
    return f"Names that newer packages have replaced.\n\n```python\n{script}```\n"
