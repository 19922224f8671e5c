"""A model that waits, as one does that calls other services: it answers each row after as many milliseconds as the row says."""

import time

import mlflow
from mlflow.pyfunc import PythonModel


class Waits(PythonModel):
    def predict(self, context, model_input, params=None):
        milliseconds = [float(value) for value in model_input["milliseconds"]]
        time.sleep(sum(milliseconds) / 1000)
        return milliseconds


mlflow.models.set_model(Waits())
