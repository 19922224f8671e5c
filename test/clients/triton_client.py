"""Asks a region by Triton's HTTP client. Usage: triton_client.py HOST:PORT MODEL < inputs.json; prints what it was answered."""

import json
import sys

import numpy
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

address, model = sys.argv[1:]
rows = numpy.array(json.load(sys.stdin), dtype=numpy.float32)
client = triton.InferenceServerClient(address)
metadata = client.get_model_metadata(model)
name = metadata["inputs"][0]["name"]


def tensor(values, binary: bool):
    given = triton.InferInput(name, list(values.shape), "FP32")
    given.set_data_from_numpy(values, binary_data=binary)
    return given


def infer(binary_in: bool, outputs) -> dict:
    answer = client.infer(model, [tensor(rows, binary_in)], outputs=outputs)
    names = [output["name"] for output in answer.get_response()["outputs"]]
    return {one: answer.as_numpy(one).tolist() for one in names}


def refusal(call) -> str:
    try:
        call()
    except InferenceServerException as error:
        return str(error)
    raise AssertionError("no error")


print(
    json.dumps(
        {
            "live": client.is_server_live(),
            "ready": client.is_server_ready(),
            "modelReady": client.is_model_ready(model),
            "metadata": metadata,
            # Both ends of the protocol's choices: tensors in binary after the JSON head (the default), and in the JSON.
            "defaults": infer(True, None),
            "json": infer(
                False, [triton.InferRequestedOutput(o["name"], binary_data=False) for o in metadata["outputs"]]
            ),
            "oneOutput": infer(True, [triton.InferRequestedOutput("label", binary_data=True)]),
            "unknown": refusal(lambda: client.infer("nobody", [tensor(rows, True)])),
            "wrongShape": refusal(lambda: client.infer(model, [tensor(rows[:, :3], True)])),
        }
    )
)
