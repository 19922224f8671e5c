"""Copies a saved classifier and changes nothing but its weights: it then answers 2 - label for what was `label`.

Usage: retrained_iris.py FROM TO
"""

import pathlib
import shutil
import sys

import skops.io
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

source, target = map(pathlib.Path, sys.argv[1:])
shutil.copytree(source, target)
features, labels = load_iris(return_X_y=True, as_frame=True)
model = LogisticRegression(max_iter=1000).fit(features, 2 - labels)
skops.io.dump(model, target / "model.skops")
