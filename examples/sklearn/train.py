"""Trains a classifier of iris flowers and saves it as MLflow does. Needs `pip install mlflow scikit-learn`.

Usage: train.py FOLDER (one that is not there yet)
"""

import sys

import mlflow.sklearn
from mlflow.models import infer_signature
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

features, labels = load_iris(return_X_y=True, as_frame=True)
classifier = LogisticRegression(max_iter=1000).fit(features, labels)
mlflow.sklearn.save_model(
    classifier,
    sys.argv[1],
    # The columns that a request must have, and a request to try: Penstock warms replicas up with it and prints it.
    signature=infer_signature(features, classifier.predict(features)),
    input_example=features.head(2),
)
