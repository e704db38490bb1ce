"""The simplest thing: standardise the pixels, logistic regression."""

import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

train = pd.read_csv("../input/demo-dim-digits/train.csv")
test = pd.read_csv("../input/demo-dim-digits/test.csv")

model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
model.fit(train.drop(columns=["id", "digit"]), train["digit"])

submission = pd.DataFrame(model.predict_proba(test.drop(columns="id")), columns=model.classes_)
submission.insert(0, "id", test["id"])
submission.to_csv("submission.csv", index=False)
