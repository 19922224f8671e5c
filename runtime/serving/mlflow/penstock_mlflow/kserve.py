"""KServe v2 (Open Inference Protocol) over a pyfunc model, JSON and the binary tensor extension.

A model with a column signature gets one input per column, or a single two-dimensional one with its columns in order; one
with a tensor signature gets its tensors. An array answer is `predict`, a data frame answers with one output per column.
"""

import json

import numpy
import pandas
from mlflow.exceptions import MlflowException

DTYPES = {
    "BOOL": numpy.dtype("bool"),
    "UINT8": numpy.dtype("uint8"),
    "UINT16": numpy.dtype("uint16"),
    "UINT32": numpy.dtype("uint32"),
    "UINT64": numpy.dtype("uint64"),
    "INT8": numpy.dtype("int8"),
    "INT16": numpy.dtype("int16"),
    "INT32": numpy.dtype("int32"),
    "INT64": numpy.dtype("int64"),
    "FP16": numpy.dtype("float16"),
    "FP32": numpy.dtype("float32"),
    "FP64": numpy.dtype("float64"),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
# Types of MLflow's column signatures by their v2 names.
COLUMN_TYPES = {"boolean": "BOOL", "integer": "INT32", "long": "INT64", "float": "FP32", "double": "FP64"}
JSON_LENGTH = b"inference-header-content-length"


class BadInput(Exception):
    """The client's mistake, in words for the client."""


def metadata(model, example_request: dict | None, method: str, path: str):
    """Status and body of a path that is no inference."""
    parts = [part for part in path.split("/") if part]
    if method != "GET":
        return 405, {"error": f"{method} is not allowed on {path}"}
    if parts == ["v2"]:
        return 200, {"name": "penstock", "version": "1", "extensions": ["binary_tensor_data"]}
    if parts in (["v2", "health", "live"], ["v2", "health", "ready"]):
        return 200, {"live" if parts[2] == "live" else "ready": True}
    if len(parts) >= 3 and parts[1] == "models":
        if parts[-1] == "ready":
            return 200, {"name": parts[2], "ready": True}
        if len(parts) == 3 or (len(parts) == 5 and parts[3] == "versions"):
            return 200, describe(model, parts[2], example_request)
    return 404, {"error": f"no such path on this replica: {path}"}


def describe(model, name: str, example_request: dict | None) -> dict:
    signature = model.metadata.signature
    inputs = signature.inputs if signature is not None else None
    outputs = signature.outputs if signature is not None else None
    return {
        "name": name,
        "versions": [],
        "platform": "mlflow_pyfunc",
        "inputs": list_specs(inputs, "input"),
        "outputs": list_specs(outputs, "predict"),
        **({} if example_request is None else {"parameters": {"example_request": example_request}}),
    }


def list_specs(schema, unnamed: str) -> list:
    if schema is None:
        return []
    if schema.is_tensor_spec():
        return [
            {"name": spec.name or unnamed, "datatype": NAMES.get(spec.type, "BYTES"), "shape": list(spec.shape)}
            for spec in schema.inputs
        ]
    return [
        {"name": spec.name or unnamed, "datatype": COLUMN_TYPES.get(str(getattr(spec.type, "name", "")), "BYTES"), "shape": [-1, 1]}
        for spec in schema.inputs
    ]


def infer(model, name: str, body: bytes, headers: dict):
    """The answer's body and its extra headers. Errors: BadInput."""
    request, tail = split_body(body, headers)
    tensors = read_tensors(request, tail)
    data = to_model_input(tensors, model.metadata.get_input_schema())
    try:
        prediction = model.predict(data)
    except MlflowException as error:
        raise BadInput(error.message) from error
    except Exception as error:
        raise BadInput(f"the model can't work on this input: {error}") from error
    return to_answer(request, name, to_outputs(prediction))


def split_body(body: bytes, headers: dict):
    length = headers.get(JSON_LENGTH)
    try:
        json_bytes = len(body) if length is None else int(length)
        request = json.loads(body[:json_bytes])
    except ValueError as error:
        raise BadInput(f"the body is not JSON: {error}") from error
    if not 0 <= json_bytes <= len(body):
        raise BadInput(f"inference-header-content-length is {json_bytes}, and the body has {len(body)} bytes")
    if not isinstance(request, dict) or not isinstance(request.get("inputs"), list) or not request["inputs"]:
        raise BadInput("'inputs' must be a list of tensors")
    return request, memoryview(body)[json_bytes:]


def read_tensors(request: dict, tail) -> dict:
    tensors = {}
    for tensor in request["inputs"]:
        try:
            name, shape, datatype = str(tensor["name"]), [int(size) for size in tensor["shape"]], tensor["datatype"]
        except (TypeError, KeyError, ValueError) as error:
            raise BadInput("each input needs 'name', 'shape', 'datatype' and 'data'") from error
        if datatype != "BYTES" and datatype not in DTYPES:
            raise BadInput(f"input '{name}': datatype '{datatype}' is none of BYTES, {', '.join(DTYPES)}")
        binary_bytes = (tensor.get("parameters") or {}).get("binary_data_size")
        try:
            if binary_bytes is None:
                values = from_json(tensor.get("data"), datatype)
            else:
                values = from_binary(tail[:binary_bytes], datatype)
                tail = tail[binary_bytes:]
            tensors[name] = values.reshape(shape)
        except (TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"input '{name}' is not {datatype} of shape {shape}: {error}") from error
    return tensors


def from_json(data, datatype: str):
    if data is None:
        raise ValueError("'data' is missing")
    return numpy.asarray(data, dtype=object if datatype == "BYTES" else DTYPES[datatype])


def from_binary(data, datatype: str):
    if datatype != "BYTES":
        return numpy.frombuffer(data, dtype=DTYPES[datatype].newbyteorder("<"))
    texts = []
    while len(data) > 0:
        length = int.from_bytes(data[:4], "little")
        if len(data) < 4 + length:
            raise ValueError("it ends inside an element")
        texts.append(bytes(data[4 : 4 + length]).decode())
        data = data[4 + length :]
    return numpy.array(texts, dtype=object)


def to_model_input(tensors: dict, schema):
    first = next(iter(tensors.values()))
    if schema is not None and schema.is_tensor_spec():
        return tensors if schema.has_input_names() else first
    if schema is None and len(tensors) == 1:
        return first
    columns = schema.input_names() if schema is not None else list(tensors)
    if len(tensors) == 1 and first.ndim == 2 and first.shape[1] == len(columns) and set(tensors) != set(columns):
        return pandas.DataFrame(first, columns=columns)
    missing = [column for column in columns if column not in tensors]
    if missing and schema is not None:
        required = [column for column in missing if column in schema.required_input_names()]
        if required:
            raise BadInput(
                f"inputs are missing: {', '.join(required)}. Give one per column, or one of shape [rows, {len(columns)}]"
            )
    rows = {len(tensor.reshape(-1)) for tensor in tensors.values()}
    if len(rows) != 1:
        raise BadInput(f"the inputs differ in their number of rows: {sorted(rows)}")
    return pandas.DataFrame({column: tensor.reshape(-1) for column, tensor in tensors.items()})


def to_outputs(prediction) -> dict:
    if isinstance(prediction, pandas.DataFrame):
        return {str(column): prediction[column].to_numpy() for column in prediction.columns}
    if isinstance(prediction, dict):
        return {str(name): numpy.asarray(value) for name, value in prediction.items()}
    return {"predict": numpy.asarray(prediction)}


def to_answer(request: dict, name: str, outputs: dict):
    wanted = {output["name"]: output.get("parameters") or {} for output in request.get("outputs") or [] if "name" in output}
    unknown = [output for output in wanted if output not in outputs]
    if unknown:
        raise BadInput(f"there is no output '{unknown[0]}'; there is {', '.join(outputs)}")
    binary_default = bool((request.get("parameters") or {}).get("binary_data_output", False))
    specs, tail = [], []
    for output, values in outputs.items():
        if wanted and output not in wanted:
            continue
        datatype = NAMES.get(values.dtype, "BYTES")
        spec = {"name": output, "datatype": datatype, "shape": list(values.shape)}
        if wanted.get(output, {}).get("binary_data", binary_default):
            data = to_binary(values, datatype)
            spec["parameters"] = {"binary_data_size": len(data)}
            tail.append(data)
        else:
            flat = values.reshape(-1)
            spec["data"] = [str(item) for item in flat] if datatype == "BYTES" else flat.tolist()
        specs.append(spec)
    answer = {"model_name": name, "outputs": specs}
    if isinstance(request.get("id"), str):
        answer["id"] = request["id"]
    head = json.dumps(answer).encode()
    if not tail:
        return head, []
    extra = [(b"content-type", b"application/octet-stream"), (JSON_LENGTH, str(len(head)).encode())]
    return b"".join([head, *tail]), extra


def to_binary(values, datatype: str) -> bytes:
    if datatype != "BYTES":
        return numpy.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes()
    items = [str(item).encode() for item in values.reshape(-1)]
    return b"".join(len(item).to_bytes(4, "little") + item for item in items)
