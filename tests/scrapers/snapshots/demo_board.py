"""How the demo's leaderboard was made: each team is one scikit-learn model, scored on the hidden test part.

`python -m tests.scrapers.snapshots.demo_board FILE` writes it anew (some minutes); its result is kept in
`scrapers/snapshots/demo_data/leaderboard.csv`,
so that the demo is written at once. The last digits depend on scikit-learn's version.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scrapers.snapshots.demo import Digits, make_digits


def teams() -> dict[str, Any]:
    """Return the model of each team by its name, weak ones to strong ones; all are seeded."""
    models = dict(_weak()) | dict(_linear()) | dict(_neighbours()) | dict(_trees()) | dict(_vectors())
    return models | dict(_blends(models))


def score(model: Any, train: Digits, test: Digits) -> float:
    """Fit the model and return its log loss on the test part, probabilities clipped at 1e-15."""
    from sklearn.metrics import log_loss

    model.fit(train.images, train.digits)
    return float(log_loss(test.digits, model.predict_proba(test.images), labels=range(10)))


def write_board(path: Path) -> None:
    """Score every team and write `rank,score,model`, best first."""
    train, test = make_digits()
    scores = sorted((round(score(model, train, test), 5), name) for name, model in teams().items())
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["rank", "score", "model"])
        writer.writerows([rank, f"{value:.5f}", name] for rank, (value, name) in enumerate(scores, start=1))


def _weak() -> Iterator[tuple[str, Any]]:
    from sklearn.dummy import DummyClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
    from sklearn.tree import DecisionTreeClassifier

    yield "class shares", DummyClassifier(strategy="prior")
    for depth in (2, 4, 6):
        yield f"tree of depth {depth}", DecisionTreeClassifier(max_depth=depth, random_state=0)
    yield "tree, 20 a leaf", DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    yield "Gaussian naive Bayes", GaussianNB()
    yield "Gaussian naive Bayes, smoothed", GaussianNB(var_smoothing=0.1)
    yield "multinomial naive Bayes", MultinomialNB()
    yield "Bernoulli naive Bayes", BernoulliNB(binarize=7.5)


def _linear() -> Iterator[tuple[str, Any]]:
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler

    for c in (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0):
        model = LogisticRegression(C=c, max_iter=2000)
        yield f"scaled logistic regression C={c:g}", make_pipeline(StandardScaler(), model)
    for c in (1.0, 5.0, 20.0, 100.0):
        model = LogisticRegression(C=c, max_iter=2000)
        yield f"unit-length logistic regression C={c:g}", make_pipeline(Normalizer(), model)
    yield "LDA", LinearDiscriminantAnalysis()
    yield "LDA, shrunk", LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3)
    yield "QDA, regularised", QuadraticDiscriminantAnalysis(reg_param=0.3)


def _neighbours() -> Iterator[tuple[str, Any]]:
    from sklearn.decomposition import PCA
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    for k in (5, 15, 40):
        yield f"{k} neighbours", KNeighborsClassifier(k)
        yield f"unit length, {k} neighbours", make_pipeline(Normalizer(), KNeighborsClassifier(k, weights="distance"))
    model = KNeighborsClassifier(25, weights="distance")
    yield "unit length, PCA 20, 25 neighbours", make_pipeline(Normalizer(), PCA(20, random_state=0), model)


def _trees() -> Iterator[tuple[str, Any]]:
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier

    for trees in (50, 300):
        yield f"random forest of {trees}", RandomForestClassifier(trees, random_state=0)
        yield f"extra trees, {trees}", ExtraTreesClassifier(trees, random_state=0)
    boosting = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.15, max_leaf_nodes=8, random_state=0)
    yield "histogram boosting", boosting


def _vectors() -> Iterator[tuple[str, Any]]:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.decomposition import PCA
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler
    from sklearn.svm import SVC

    def calibrated(*steps: Any) -> Any:
        return CalibratedClassifierCV(make_pipeline(*steps), method="sigmoid", ensemble=False, cv=5)

    for c in (1, 5):
        yield f"SVC C={c}", calibrated(SVC(C=c))
        yield f"scaled SVC C={c}", calibrated(StandardScaler(), SVC(C=c))
        yield f"unit-length SVC C={c}", calibrated(Normalizer(), SVC(C=c))
    for parts in (15, 20, 30):
        yield f"PCA {parts}, SVC", calibrated(PCA(parts, random_state=0), SVC(C=5))
        yield f"unit length, PCA {parts}, SVC", calibrated(Normalizer(), PCA(parts, random_state=0), SVC(C=5))
    for alpha in (0.01, 3.0):
        network = MLPClassifier((64,), alpha=alpha, max_iter=150, early_stopping=True, random_state=0)
        yield f"network of 64, alpha={alpha:g}", make_pipeline(StandardScaler(), network)


def _blends(models: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    from sklearn.ensemble import VotingClassifier

    best = "unit length, PCA 20, SVC"
    for other in ("unit-length logistic regression C=20", "extra trees, 300", "unit length, PCA 20, 25 neighbours"):
        members = [("first", models[best]), ("second", models[other])]
        yield f"mean of {best} and {other}", VotingClassifier(members, voting="soft")
    three = [best, "unit length, PCA 20, 25 neighbours", "unit-length logistic regression C=20"]
    members = [(f"m{index}", models[name]) for index, name in enumerate(three)]
    yield "mean of three kinds", VotingClassifier(members, voting="soft", weights=[4, 1, 1])
    yield "mean of three kinds, equal", VotingClassifier(members, voting="soft")


if __name__ == "__main__":
    write_board(Path(sys.argv[1]))
