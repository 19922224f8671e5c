"""Trains three small models, saves each as MLflow does, and writes what they answer in this process to expected.json.

Usage: train.py FOLDER
"""

import json
import logging
import pathlib
import sys

import mlflow.pyfunc
import mlflow.sklearn
import mlflow.xgboost
import pandas
import xgboost
from mlflow.models import infer_signature
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression

ROWS_OF_EXAMPLE = 5


def main(folder: pathlib.Path) -> None:
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    expected = {}

    features, labels = load_iris(return_X_y=True, as_frame=True)
    classifier = LogisticRegression(max_iter=1000).fit(features, labels)
    save(mlflow.sklearn, classifier, features, folder / "sklearn")
    expected["sklearn"] = ask(classifier, features)

    features, targets = load_diabetes(return_X_y=True, as_frame=True)
    regressor = xgboost.XGBRegressor(n_estimators=50, random_state=0).fit(features, targets)
    save(mlflow.xgboost, regressor, features, folder / "xgboost")
    expected["xgboost"] = ask(regressor, features)

    waits = pandas.DataFrame({"milliseconds": [1.0]})
    mlflow.pyfunc.save_model(
        path=folder / "waits",
        python_model=str(pathlib.Path(__file__).with_name("waits.py")),
        signature=infer_signature(waits, [1.0]),
        input_example=waits,
        # The environment of the scikit-learn model serves this one too.
        pip_requirements=str(folder / "sklearn" / "requirements.txt"),
    )
    (folder / "expected.json").write_text(json.dumps(expected))


def save(flavor, model, features, path: pathlib.Path) -> None:
    signature = infer_signature(features, model.predict(features))
    flavor.save_model(model, path, signature=signature, input_example=features.head(ROWS_OF_EXAMPLE))


def ask(model, features) -> dict:
    rows = features.sample(50, random_state=0)
    return {
        "columns": list(rows.columns),
        "data": rows.to_numpy().tolist(),
        "predictions": model.predict(rows).tolist(),
    }


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
