"""Writes all-MiniLM-L6-v2, as its package ships it (safetensors), as an ONNX model: tokens in, normalised sentence vector out."""

import json
import pathlib

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def read_safetensors(path: pathlib.Path) -> dict[str, numpy.ndarray]:
    raw = path.read_bytes()
    head_bytes = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + head_bytes])
    head.pop("__metadata__", None)
    tensors = {}
    for name, entry in head.items():
        if entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        values = numpy.frombuffer(raw[8 + head_bytes + begin : 8 + head_bytes + end], dtype="<f4")
        tensors[name.removeprefix("bert.")] = values.reshape(entry["shape"])
    return tensors


class Graph:
    """Collects nodes and weights; each method adds one operator and returns the name of its output."""

    def __init__(self, tensors: dict[str, numpy.ndarray]) -> None:
        self.tensors = tensors
        self.nodes: list[onnx.NodeProto] = []
        self.weights: dict[str, onnx.TensorProto] = {}

    def op(self, kind: str, *inputs: str, **attributes) -> str:
        output = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(self, name: str, values) -> str:
        self.weights[name] = numpy_helper.from_array(numpy.ascontiguousarray(values), name)
        return name

    def linear(self, x: str, name: str) -> str:
        weight = self.constant(f"{name}.weight", self.tensors[f"{name}.weight"].T)
        bias = self.constant(f"{name}.bias", self.tensors[f"{name}.bias"])
        return self.op("Add", self.op("MatMul", x, weight), bias)

    def norm(self, x: str, name: str, epsilon: float) -> str:
        scale = self.constant(f"{name}.weight", self.tensors[f"{name}.weight"])
        bias = self.constant(f"{name}.bias", self.tensors[f"{name}.bias"])
        return self.op("LayerNormalization", x, scale, bias, axis=-1, epsilon=epsilon)


def attention(graph: Graph, x: str, blocked: str, layer: str, heads: int, width: int) -> str:
    split = graph.constant("split", numpy.array([0, 0, heads, width // heads], dtype=numpy.int64))
    joined = graph.constant("joined", numpy.array([0, 0, width], dtype=numpy.int64))
    scale = graph.constant("scale", numpy.array((width // heads) ** -0.5, dtype=numpy.float32))

    def parts(name: str, axes: list[int]) -> str:
        projected = graph.linear(x, f"{layer}.attention.self.{name}")
        return graph.op("Transpose", graph.op("Reshape", projected, split), perm=axes)

    scores = graph.op("MatMul", parts("query", [0, 2, 1, 3]), parts("key", [0, 2, 3, 1]))
    weights = graph.op("Softmax", graph.op("Add", graph.op("Mul", scores, scale), blocked), axis=-1)
    mixed = graph.op("MatMul", weights, parts("value", [0, 2, 1, 3]))
    return graph.op("Reshape", graph.op("Transpose", mixed, perm=[0, 2, 1, 3]), joined)


def encode(graph: Graph, config: dict) -> str:
    epsilon, width = config["layer_norm_eps"], config["hidden_size"]
    words = graph.constant("words", graph.tensors["embeddings.word_embeddings.weight"])
    positions = graph.constant("positions", graph.tensors["embeddings.position_embeddings.weight"])
    segment = graph.constant("segment", graph.tensors["embeddings.token_type_embeddings.weight"][0])
    zero, one = (graph.constant(name, numpy.array([value])) for name, value in (("zero", 0), ("one", 1)))
    length = graph.op("Slice", graph.op("Shape", "input_ids"), one, graph.constant("two", numpy.array([2])))
    x = graph.op("Add", graph.op("Gather", words, "input_ids"), graph.op("Slice", positions, zero, length, zero))
    x = graph.norm(graph.op("Add", x, segment), "embeddings.LayerNorm", epsilon)
    mask = graph.op("Cast", "attention_mask", to=TensorProto.FLOAT)
    open_to_all = graph.op("Unsqueeze", mask, graph.constant("middle", numpy.array([1, 2])))
    far = graph.constant("far", numpy.array(1e9, dtype=numpy.float32))
    # 0 where a token may be read, -1e9 where it is padding.
    blocked = graph.op("Sub", graph.op("Mul", open_to_all, far), far)
    for number in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        read = attention(graph, x, blocked, layer, config["num_attention_heads"], width)
        read = graph.linear(read, f"{layer}.attention.output.dense")
        x = graph.norm(graph.op("Add", x, read), f"{layer}.attention.output.LayerNorm", epsilon)
        inner = graph.op("Gelu", graph.linear(x, f"{layer}.intermediate.dense"))
        inner = graph.linear(inner, f"{layer}.output.dense")
        x = graph.norm(graph.op("Add", x, inner), f"{layer}.output.LayerNorm", epsilon)
    last = graph.constant("last", numpy.array([-1]))
    per_token = graph.op("Unsqueeze", mask, last)
    total = graph.op("ReduceSum", graph.op("Mul", x, per_token), one, keepdims=0)
    # The mean's divisor falls out of the normalisation.
    length_of_vector = graph.op("ReduceL2", total, one, keepdims=1)
    return graph.op("Div", total, length_of_vector)


def write_minilm(shipped: pathlib.Path, target: pathlib.Path) -> None:
    graph = Graph(read_safetensors(shipped / "model.safetensors"))
    config = json.loads((shipped / "config.json").read_text())
    output = encode(graph, config)
    graph.nodes.append(helper.make_node("Identity", [output], ["sentence_embedding"]))
    tokens = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    vector = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["batch", config["hidden_size"]])
    made = helper.make_graph(graph.nodes, "minilm", tokens, [vector], list(graph.weights.values()))
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, target)
