"""Classifies the whole iris data set by scikit-learn in this process: what a served copy of the model must answer.

Usage: iris_reference.py; prints {"features": [[...]], "labels": [...], "probabilities": [[...]]}
"""

import json

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

features, labels = load_iris(return_X_y=True)
# As examples/iris/train.py trains it.
model = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(features, labels)
print(
    json.dumps(
        {
            "features": features.tolist(),
            "labels": model.predict(features).tolist(),
            "probabilities": model.predict_proba(features).tolist(),
        }
    )
)
