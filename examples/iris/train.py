"""Trains the iris classifier and writes it as iris.onnx beside this file.

Run: `uv run --python 3.11 --with scikit-learn==1.9.1 --with skl2onnx==1.20.0 --with onnx==1.23.2 examples/iris/train.py`
The same versions give the same answers on every machine.
"""

import pathlib

from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

features, labels = load_iris(return_X_y=True)
# Newton's method solves this convex problem to the last digits, so that every machine finds the same weights.
model = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(features, labels)

onnx_model = to_onnx(
    model,
    initial_types=[("features", FloatTensorType([None, features.shape[1]]))],
    # Probabilities as one tensor [rows, classes], not as a list of maps: tensors are what every client can read.
    options={"zipmap": False},
    target_opset=18,
    # The converter would write a random name: a fixed one keeps the file's hash.
    name="iris",
)
pathlib.Path(__file__).with_name("iris.onnx").write_bytes(onnx_model.SerializeToString(deterministic=True))
print(f"accuracy on the training set: {model.score(features, labels):.3f}")
