"""Evaluation pages as hosts write them, each with what is true of it; None where nothing that can be computed is true."""

from collections.abc import Sequence
import dataclasses
from dataclasses import dataclass
from datetime import UTC, datetime

from scrapers.kaggle.card import Evidence, Sample, Tables
from scrapers.kaggle.competitions import Competition, Page

UP = ("0.1021", "0.1034", "0.1034", "0.2", "0.90")
"""A board with the smallest score first."""
DOWN = ("0.981", "0.98", "0.9799", "0.5")
EMPTY: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A competition, and its true metric, id and predictions."""

    name: str
    metric: str | None
    evaluation: str
    field: str = ""
    board: tuple[str, ...] = UP
    sample: tuple[str, ...] = ("id", "price")
    rows: tuple[tuple[str, ...], ...] = ()
    train: tuple[str, ...] | None = ("id", "size", "rooms", "price")
    test: tuple[str, ...] | None = ("id", "size", "rooms")
    labels: dict[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    mime: str = "text/markdown"
    others: tuple[tuple[str, str], ...] = ()
    """Further pages: name and content."""
    params: dict[str, float | bool] = dataclasses.field(default_factory=dict)
    certain: bool = True
    """Whether a person who reads it would be certain; False: it may be left open, but never be wrong."""
    columns: bool = True
    """Whether id and prediction columns can be told."""
    title: str = "House Pricing"
    without_sample: bool = False

    @property
    def evidence(self) -> Evidence:
        """What Kaggle would give of it."""
        pages = [Page(name="evaluation", content=self.evaluation, mime_type=self.mime)]
        pages += [Page(name=name, content=content, mime_type=self.mime) for name, content in self.others]
        fields = Competition(
            ref="https://www.kaggle.com/competitions/house-pricing",
            title=self.title,
            category="Playground",
            evaluation_metric=self.field,
            enabled_date=datetime(2026, 11, 1, tzinfo=UTC),
            deadline=datetime(2026, 12, 1, tzinfo=UTC),
            max_daily_submissions=5,
        )
        rows = self.rows or tuple((str(n), *("0.5" for _ in self.sample[1:])) for n in range(1, 6))
        labels = {name: frozenset(values) for name, values in self.labels.items()}
        sample = None if self.without_sample else Sample.of(self.sample, rows)
        return Evidence("house-pricing", fields, tuple(pages), Tables(sample, self.train, self.test, labels), self.board)


TARGETS = ("id", "a_energy", "b_energy")
TWO = {
    "sample": TARGETS,
    "train": ("id", "x", "a_energy", "b_energy"),
    "test": ("id", "x"),
}
SPECIES = ("id", "oak", "ash", "elm")
CLASSES = {
    "sample": SPECIES,
    "train": ("id", "x", "species"),
    "test": ("id", "x"),
    "labels": {"species": ("oak", "ash", "elm")},
}

PLAIN = [
    Case("rmse in a sentence", "rmse", "Submissions are scored on the root mean squared error. RMSE is defined as:\n\n"
         "$$\\textrm{RMSE} = \\sqrt{\\frac{1}{N}\\sum_{i=1}^{N}(y_i-\\widehat{y}_i)^2}$$\n\nwhere \\\\(y_i\\\\) is the true value."),
    Case("rmse with dashes", "rmse", "Submissions are evaluated using the **Root\u2011Mean\u2011Squared\u2011Error (RMSE)** between predicted and "
         "actual `price`."),
    Case("rmse in html", "rmse", "<h3>Evaluation</h3><p>Submissions are evaluated on the <a href='https://en.wikipedia.org/wiki/"
         "Mean_absolute_error'>Root&nbsp;Mean Squared Error</a>.</p><h4>Submission File</h4><p>For each <code>id</code> you must predict the "
         "<code>price</code>:</p><pre><code>id,price\n1,0.5\n2,0.5</code></pre>", mime="text/html"),
    Case("rmse as a heading's word", "rmse", "## Evaluation metric\n\nRoot Mean Squared Error (RMSE)\n\n## Submission Format\n\n"
         "```\nid,price\n1,3\n```"),
    Case("the official metric is", "rmse", "The official metric for this challenge is RMSE: lower values are better.", field="RMSE"),
    Case("rmsle in brackets", "rmsle", "The evaluation metric for this competition is the RMSLE (root mean squared log error) between the "
         "actual and predicted prices."),
    Case("rmsle by field and formula", "rmsle", "Submissions are evaluated on the Root Mean Squared Logarithmic Error.\n\n\\[ "
         "\\sqrt{\\frac{1}{n} \\sum_{i=1}^n (\\log(p_i + 1) - \\log(a_i+1))^2} \\]", field="Root Mean Squared Logarithmic Error"),
    Case("house prices' own words", "rmsle", "### Metric\nSubmissions are evaluated on [Root-Mean-Squared-Error (RMSE)](https://en.wikipedia."
         "org/wiki/Root-mean-square_deviation) between the logarithm of the predicted value and the logarithm of the observed sales price. "
         "(Taking logs means that errors in predicting expensive houses and cheap houses will affect the result equally.)",
         field="Root Mean Squared Logarithmic Error"),
    Case("mae", "mae", "Submissions are evaluated using the [Mean Absolute Error](https://en.wikipedia.org/wiki/Root_mean_square_deviation) "
         "(MAE), between the predicted and the actual yield."),
    Case("mae over two columns", "mae", "Submissions are scored on mean absolute error (MAE) across both targets.", **TWO),
    Case("mae by its abbreviation in code marks", "mae", "Your submission will be evaluated using `MAE`.", field="Mean Absolute Error"),
    Case("auc", "roc_auc", "Submissions are evaluated on area under the ROC curve between the predicted probability and the observed target.",
         board=DOWN),
    Case("auc spelt out", "roc_auc", "Entries are judged on **Area Under the Receiver Operating Characteristic Curve (ROC AUC)**.", board=DOWN),
    Case("auc with a dash", "roc_auc", "The evaluation metric is ROC\u2013AUC. Submit probabilities, not classes.", board=DOWN),
    Case("auc over columns", "roc_auc", "Submissions are evaluated on the mean column-wise ROC AUC. In other words, the score is the average "
         "of the individual AUCs of each predicted column.", board=DOWN, **TWO),
    Case("auc over labels in more words", "roc_auc", "Submissions are evaluated on area under the ROC curve between the predicted "
         "probability and the observed target.\n\nTo calculate the final score, AUC is calculated for each of the 2 labels, then averaged. "
         "The score is then the average of the individual AUCs of each predicted column.", board=DOWN, **TWO),
    Case("log loss of classes", "log_loss", "Submissions are evaluated using multi-class logarithmic loss. Each id has one true class.\n\n"
         "$$ -\\frac{1}{N}\\sum_{i=1}^N\\sum_{j=1}^M y_{ij}\\log(p_{ij}) $$\n\nThe submitted probabilities are not required to sum to one "
         "because they are rescaled prior to being scored (each row is divided by the row sum). In order to avoid the extremes of the log "
         "function, predicted probabilities are replaced with \\\\(max(min(p,1-10^{-15}),10^{-15})\\\\).",
         params={"eps": 1e-15, "normalize": True}, **CLASSES),
    Case("log loss of classes by field alone said so", "log_loss", "Submissions are evaluated using the log loss.", field="MulticlassLoss",
         **CLASSES),
    Case("binary log loss", "log_loss", "Submissions are scored on the log loss:\n\n$$\\textrm{LogLoss} = - \\frac{1}{n} \\sum_{i=1}^n "
         "\\left[ y_i \\log(\\hat{y}_i) + (1 - y_i) \\log(1 - \\hat{y}_i)\\right]$$\n\nPredictions are clipped to 1e-7 from 0 and 1.",
         params={"eps": 1e-7}),
    Case("log loss as cross entropy", "log_loss", "Submissions are evaluated with binary cross-entropy, also known as log-loss.",
         field="LogLoss", certain=False),
    Case("accuracy of titanic's kind", "accuracy", "## Goal\nPredict whether each passenger survived.\n## Metric\nYour score is the percentage "
         "of passengers you correctly predict. This is known as [accuracy](https://en.wikipedia.org/wiki/Accuracy_and_precision).",
         field="Categorization Accuracy", board=DOWN),
    Case("accuracy", "accuracy", "Submissions are evaluated based on their classification accuracy, the percentage of predicted labels that "
         "are correct.", board=DOWN),
    Case("accuracy score", "accuracy", "Submissions are evaluated using the accuracy score.", field="Accuracy Score", board=DOWN),
    Case("mean column rmsle", "mean_columnwise_rmsle", "Submissions are evaluated on the column-wise root mean squared logarithmic error.\n\n"
         "The RMSLE for a single column is calculated as\n\n$\\sqrt{\\frac{1}{n}\\sum_{i=1}^n(\\log{(p_i + 1)} - \\log{(a_i+1)})^2}$\n\n"
         "The final score is the mean of the RMSLE over all columns (in this case, 2).", **TWO),
    Case("mcrmsle by field", "mean_columnwise_rmsle", "Submissions are scored by RMSLE, averaged over the two target columns.",
         field="MCRMSLE", **TWO),
    Case("metric first", "mae", "Mean absolute error will be used to evaluate submissions."),
    Case("colon and list", "rmse", "The evaluation metric is:\n\n* Root mean squared error (RMSE)\n\nGood luck!"),
    Case("we use", "rmse", "We use the RMSE to rank submissions on the leaderboard."),
    Case("it is considered but not used", "mae", "We considered RMSE but use MAE, which is kinder to outliers. Submissions are evaluated on "
         "MAE.", certain=False),
    Case("not that one", "mae", "Submissions are evaluated on mean absolute error, not RMSE."),
    Case("unlike last year", "mae", "Unlike last year, when submissions were scored on RMSE, there is one score now. Submissions are evaluated "
         "on the mean absolute error."),
    Case("another competition", "rmse", "In the Store Sales competition, submissions are evaluated on RMSLE. Here, submissions are evaluated on "
         "RMSE.", certain=False),
    Case("a column called mae", "rmse", "Submissions are evaluated on RMSE. The column `mae` is the mother's age at estimation.",
         sample=("id", "mae"), train=("id", "x", "mae"), test=("id", "x")),
    Case("a data page that names others", "roc_auc", "Submissions are evaluated on AUC.", board=DOWN,
         others=(("data-description", "`mae` - mean absolute error of the sensor\n`rmse` - its root mean squared error"),
                 ("rules", "Submissions will be scored and ranked by the evaluation metric stated on the website."))),
    Case("an efficiency prize besides", "rmse", "Submissions are evaluated on RMSE.\n\n## Efficiency Prize\nSubmissions are evaluated on the mean of "
         "MAE and runtime.", field="Root Mean Squared Error"),
    Case("only the field", "rmse", "See the discussion forum for details.", field="Root Mean Squared Error"),
    Case("empty board with field and text", "mae", "Submissions are evaluated on MAE.", field="MAE", board=EMPTY),
    Case("ties all over the board", "roc_auc", "Submissions are evaluated on AUC.", field="AUC", board=("1.0", "1.0", "1.00000")),
    Case("scores as text with gaps", "rmse", "Submissions are evaluated on RMSE.", board=("", " 1.20", "1.3", "", "1e1", "NaN")),
    Case("no test table", "roc_auc", "Submissions are evaluated on area under the ROC curve.", board=DOWN, test=None, train=("id", "has_cactus"),
         sample=("id", "has_cactus"), rows=(("a.jpg", "0.5"), ("b.jpg", "0.5"))),
    Case("no sample but text and tables", "rmse", "Submissions are evaluated on RMSE.\n\n## Submission File\nThe file should contain a header and "
         "have the following format:\n```\nid,price\n7,10\n8,11\n```", without_sample=True),
    Case("other capitals in the example", "rmse", "Submissions are evaluated on RMSE.\n\n## Submission File\n```\nId,Price\n7,10\n8,11\n```"),
    Case("classes with a prefix", "log_loss", "Submissions are evaluated using the multi-class logarithmic loss.", field="Multi Class Log Loss",
         sample=("id", "Status_C", "Status_CL", "Status_D"), train=("id", "x", "Status"), test=("id", "x"), labels={"Status": ("C", "CL", "D")}),
    Case("a table in html", "mae", "<p>Submissions are evaluated on the <strong>mean absolute error</strong>.</p><table><tr><th>id</th><th>price"
         "</th></tr><tr><td>1</td><td>2.5</td></tr></table>", mime="text/html"),
]

OPEN = [
    Case("weighted mae", None, "Submissions are evaluated on the weighted mean absolute error (WMAE).", field="WMAE"),
    Case("weights in another sentence", None, "Submissions are evaluated on RMSE. Each row is weighted by its `weight`.", field="RMSE"),
    Case("rmse of logs without the field", None, "Submissions are evaluated on RMSE between the logarithm of the predicted value and the "
         "logarithm of the observed price."),
    Case("qwk", None, "Submissions are scored based on the quadratic weighted kappa, which measures the agreement between two outcomes.",
         field="QuadraticWeightedKappa", board=DOWN),
    Case("macro f1", None, "Submissions are evaluated on **macro F1-score**.", field="Macro F1", board=DOWN),
    Case("mean f1 beside accuracy", None, "Submissions are evaluated with the mean F1-Score. The F1 score measures accuracy using precision and "
         "recall.", board=DOWN),
    Case("r squared in a formula", None, "Submissions are evaluated on the $R^2$ score.", field="R2 Score", board=DOWN),
    Case("r squared with a small 2", None, "Submissions are evaluated by R\u00b2 between predictions and truth; RMSE is shown for reference.",
         board=DOWN),
    Case("pearson", None, "Submissions are evaluated on the Pearson correlation coefficient.", board=DOWN),
    Case("map at 3", None, "Submissions are evaluated according to the Mean Average Precision @ 3 (MAP@3). Accuracy is not used.", board=DOWN),
    Case("pr auc", None, "Submissions are evaluated on the area under the precision-recall curve (AUC-PR).", board=DOWN),
    Case("partial auc", None, "Submissions are evaluated on partial area under the ROC curve (pAUC) above 80% true positive rate.", board=DOWN),
    Case("weighted auc", None, "Submissions are scored on the weighted AUC. Each region of the ROC curve has its own weight.", board=DOWN),
    Case("balanced accuracy", None, "Submissions are evaluated on balanced accuracy.", board=DOWN),
    Case("top 5 accuracy", None, "Submissions are evaluated using top-5 accuracy.", board=DOWN),
    Case("gini", None, "Submissions are evaluated using the Normalized Gini Coefficient, which is 2 * AUC - 1.", board=DOWN),
    Case("mse", None, "Submissions are evaluated on the mean squared error."),
    Case("rmspe", None, "Submissions are evaluated on the Root Mean Square Percentage Error (RMSPE)."),
    Case("smape", None, "Forecasts are evaluated using SMAPE between forecasts and actual values."),
    Case("mape", None, "Submissions are evaluated on Mean Absolute Percentage Error (MAPE)."),
    Case("crps", None, "Submissions will be evaluated based on the Continuous Ranked Probability Score."),
    Case("mcrmse", None, "Submissions are scored using MCRMSE, mean columnwise root mean squared error.", field="MCRMSE", **TWO),
    Case("rmse over two columns, who knows how", None, "Submissions are evaluated on RMSE.", field="RMSE", **TWO),
    Case("rmsle over two columns, who knows how", None, "Submissions are evaluated on RMSLE.", field="RMSLE", **TWO),
    Case("auc over two columns, who knows how", None, "Submissions are evaluated on AUC.", field="AUC", board=DOWN, **TWO),
    Case("column-wise log loss", None, "Submissions are evaluated on the mean column-wise log loss.", **TWO),
    Case("weighted multi-label log loss", None, "Submissions are evaluated using weighted multi-label logarithmic loss. Each label is weighted: "
         "the `any` label counts twice.", **TWO),
    Case("log loss of many labels", None, "Submissions are evaluated on log loss. This is a multi-label problem.", field="LogLoss", **TWO),
    Case("two metrics", None, "Submissions are evaluated on the mean of RMSE and MAE.", field=""),
    Case("two metrics by sentences", None, "Submissions are evaluated on RMSE. In the second round, submissions are evaluated on MAE."),
    Case("two stages of one", None, "Stage 1 submissions are evaluated on MAE. Stage 2 submissions are evaluated on RMSE.", field="RMSE"),
    Case("field and text disagree", None, "Submissions are evaluated on RMSE.", field="Mean Absolute Error"),
    Case("field disagrees on logs", None, "Submissions are evaluated on the root mean squared error.", field="RMSLE"),
    Case("board disagrees", None, "Submissions are evaluated on the root mean squared error.", field="RMSE", board=DOWN),
    Case("auc above one", None, "Submissions are evaluated on AUC.", field="AUC", board=("98.1", "97.2", "50.0")),
    Case("an unknown field", None, "Submissions are evaluated on RMSE.", field="Acme Widget Score"),
    Case("an unknown measure", None, "Submissions are evaluated using the Widget Alignment Score. A typical RMSE is 0.3.", field=""),
    Case("an unknown measure, though the field says one", None, "Submissions are evaluated using the Widget Alignment Score.", field="RMSE"),
    Case("a program of its own", None, "Submissions are evaluated on RMSE.\n\n```python\ndef score(solution, submission):\n    return "
         "rmse(solution, submission) + 0.1\n```"),
    Case("a formula that is another", None, "Submissions are evaluated on RMSE:\n\n$$\\sqrt{\\frac{\\sum_i w_i (y_i - p_i)^2}{\\sum_i w_i}}$$"),
    Case("a formula with logs", None, "Submissions are evaluated on RMSE:\n\n$$\\sqrt{\\frac{1}{n}\\sum_i (\\log(y_i) - \\log(p_i))^2}$$"),
    Case("a formula without a root", None, "Submissions are evaluated on RMSE:\n\n$$\\frac{1}{n}\\sum_i (y_i - p_i)^2$$"),
    Case("custom score inspired by", None, "Submissions are evaluated with a custom metric, inspired by the log loss."),
    Case("modified laplace", None, "Submissions are evaluated on a modified version of the Laplace Log Likelihood."),
    Case("log of the mae", None, "Submissions are evaluated on the Log of the Mean Absolute Error, calculated for each scalar coupling type."),
    Case("mae per group", None, "Submissions are evaluated on MAE, calculated per store and then averaged."),
    Case("mae plus penalty", None, "Submissions are evaluated on MAE. A penalty of 0.1 is added for each negative prediction."),
    Case("rmse divided", None, "Your score is the RMSE divided by the standard deviation of the target."),
    Case("one minus rmse", None, "The final score is 1 - RMSE.", board=DOWN),
    Case("accuracy that means quality", None, "Submissions are evaluated on the accuracy of your forecasts, by the hosts' own scoring.",
         board=DOWN),
    Case("accuracy per pixel", None, "Submissions are evaluated on the percentage of pixels correctly labelled, averaged per image.",
         board=DOWN),
    Case("negated", None, "Submissions are not evaluated on RMSE."),
    Case("negated, and the field says so all the same", None, "Submissions are not evaluated on RMSE any more.", field="RMSE"),
    Case("a question", None, "How will I be scored? Are submissions evaluated on RMSE? Find out in the forum."),
    Case("only an example of another", None, "For example, in the Bike Sharing competition submissions are evaluated on RMSLE."),
    Case("a baseline's", None, "The host's baseline reaches an MAE of 0.31. Submissions are evaluated by a panel of experts."),
    Case("judges", None, "Submissions are judged by a panel on clarity (40%), accuracy (30%) and originality (30%).", board=DOWN),
    Case("silent", None, "Good luck!"),
    Case("only one source and no board", None, "Submissions are evaluated on RMSE.", board=EMPTY),
    Case("only the field and no board", None, "Good luck!", field="RMSE", board=EMPTY),
    Case("only the text and ties", None, "Submissions are evaluated on RMSE.", board=("0.5", "0.5")),
    Case("a board in no order", None, "Submissions are evaluated on RMSE.", board=("0.5", "0.7", "0.6")),
    Case("elo", None, "Each submission is scored by a skill rating, like TrueSkill.", board=DOWN),
    Case("minus auc", None, "Submissions are evaluated on AUC minus 0.5, times two (the Gini coefficient).", board=DOWN),
    Case("capped rmse", None, "Submissions are evaluated on RMSE. Predictions are capped at 100 before scoring."),
    Case("harmonic mean", None, "Submissions are evaluated on the harmonic mean of accuracy and AUC.", board=DOWN),
    Case("median absolute error", None, "Submissions are evaluated on Median Absolute Error."),
    Case("nrmse", None, "Submissions are evaluated on the normalized RMSE."),
    Case("rmsse", None, "This competition uses a Weighted Root Mean Squared Scaled Error (RMSSE)."),
    Case("cohort auc", None, "Submissions are scored on the AUC within each cohort."),
    Case("concordance", None, "Submissions are evaluated with the Stratified Concordance Index.", board=DOWN),
    Case("rmse with a twist", None, "Submissions are evaluated on RMSE, but only the worst half of the rows counts."),
    Case("log loss unlike the text", None, "Submissions are evaluated using the multi-class log loss.", field="MulticlassLoss",
         sample=("id", "species"), train=("id", "x", "species"), test=("id", "x")),
    Case("eps in two ways", None, "Submissions are evaluated on log loss. Predictions are clipped to 1e-15. Probabilities are clipped at 10^{-7} to "
         "avoid the extremes of the log function.", field="LogLoss"),
]

SHAPES = [
    Case("two keys", "mae", "Submissions are evaluated on MAE.", sample=("store", "date", "sales"), columns=False,
         rows=(("1", "2026-01-01", "0"), ("1", "2026-01-02", "0"), ("2", "2026-01-01", "0")),
         train=("store", "date", "sales"), test=("store", "date")),
    Case("two keys that a page shows", "mae", "Submissions are evaluated on MAE.\n## Submission File\n```\nstore_id,date,sales\n1,2026-01-01,3\n```",
         sample=("store_id", "date", "sales"), columns=False, rows=(("1", "2026-01-01", "0"), ("2", "2026-01-01", "0")), train=None, test=None),
    Case("a feature in the sample", "mae", "Submissions are evaluated on MAE.", sample=("id", "text", "score"), columns=False,
         train=("id", "text", "score"), test=("id", "text")),
    Case("two ids", "mae", "Submissions are evaluated on MAE.", sample=("image_id", "patient_id", "age"), columns=False, train=None, test=None),
    Case("id comes last", "mae", "Submissions are evaluated on MAE.", sample=("price", "id"), columns=False),
    Case("rows in several parts", "mae", "Submissions are evaluated on MAE.", sample=("id", "price"), rows=(("1", "2"), ("1", "3")), columns=False),
    Case("the page shows other columns", "mae", "Submissions are evaluated on MAE.\n## Submission File\n```\nid,rent\n1,2\n```", columns=False),
    Case("an index without a name", "mae", "Submissions are evaluated on MAE.", sample=("", "price"), columns=False),
    Case("no sample and nothing else", "mae", "Submissions are evaluated on MAE.", without_sample=True, columns=False),
    Case("no sample and a cut example", "log_loss", "Submissions are evaluated using multi-class logarithmic loss.\n## Submission File\n"
         "```\nid,oak,ash,...\n1,0.1,0.2,...\n```", without_sample=True, columns=False, train=("id", "x", "species"), test=("id", "x"),
         labels={"species": ("oak", "ash", "elm")}),
    Case("a cut example beside the sample", "log_loss", "Submissions are evaluated using multi-class logarithmic loss.\n## Submission File\n"
         "You must submit a csv file with the id and a probability for each species:\n\nid,oak,ash,...\n1,0.1,0.2,...\n2,0.3,0,...\netc.",
         **CLASSES),
    Case("made-up ids", "mae", "Submissions are evaluated on MAE.\n## Submission File\n```\nid,price\nstore_1_2026,3\n```",
         rows=(("store_1_2026", "0"), ("store_2_2026", "0")), test=("store", "year"), train=("store", "year", "price")),
    Case("datetime as id", "rmsle", "Submissions are evaluated on RMSLE.", sample=("datetime", "count"), rows=(("2026-01-01 00:00:00", "0"),
         ("2026-01-01 01:00:00", "0")), train=("datetime", "casual", "registered", "count"), test=("datetime", "weather")),
]

CASES = [*PLAIN, *OPEN, *SHAPES]
