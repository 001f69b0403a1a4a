"""
From a network to an ONNX file: torch's exporter makes the graph, and what follows makes it smaller.
"""

import io
import json
import warnings
from collections import defaultdict
from typing import Any, Dict, List, Optional

import numpy
import onnx
import torch
from onnx import helper, numpy_helper

from bidaf_plugin.export.plain_network import PlainNetwork
from bidaf_plugin.runtime.session import METADATA_KEY, Arrays, with_checksum

# Runtimes of the last years know it, and all of its operators that are used here.
OPSET = 17
# Weights with fewer numbers stay as they are.
_MANY_NUMBERS = 1024
_LARGEST = 127


def trace(network: PlainNetwork, arrays: Arrays) -> onnx.ModelProto:
    """
    # Parameters

    network : `PlainNetwork`
    arrays : `Arrays`
        Its inputs for some questions. No two dimensions are of the same size, nor is one of size 1.
    """
    dynamic_axes = {name: _axes(name) for name in [*network.input_names, *network.output_names]}
    file = io.BytesIO()
    with warnings.catch_warnings():
        # What depends on the sizes of the arrays is looked at when the file is checked.
        warnings.simplefilter("ignore")
        # The newer exporter makes a loop of an LSTM, which no runtime is fast at.
        torch.onnx.export(
            network,
            tuple(torch.from_numpy(arrays[name]) for name in network.input_names),
            file,  # type: ignore[arg-type]
            input_names=network.input_names,
            output_names=network.output_names,
            dynamic_axes=dynamic_axes,
            opset_version=OPSET,
            dynamo=False,
        )
    return onnx.load_model_from_string(file.getvalue())


def _axes(name: str) -> Dict[int, str]:
    """The names of the dimensions of an input or an output."""
    if name.endswith("_lengths"):
        return {0: "batch"}
    if name == "no_answer_logits":
        return {0: "batch"}
    side = "question" if name.startswith("question_") and "attention" not in name else "passage"
    axes = {0: "batch", 1: f"{side}_length"}
    if name.endswith("_characters"):
        axes[2] = "word_length"
    if name == "passage_question_attention":
        axes[2] = "question_length"
    return axes


def shrink(model: onnx.ModelProto, int8: bool) -> None:
    """
    Stores weights in half precision, where that changes none of them, or (`int8`) as numbers of eight bits, each
    row with a factor. What is computed is in single precision as before: runtimes convert weights when they load
    the file, and word vectors when they are looked up.
    """
    graph = model.graph
    readers: Dict[str, List[onnx.NodeProto]] = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            readers[name].append(node)
    # New nodes before all others, and those in the place of one that looks up vectors.
    first: List[onnx.NodeProto] = []
    in_place: Dict[str, List[onnx.NodeProto]] = {}
    for tensor in list(graph.initializer):
        values = numpy_helper.to_array(tensor)
        if values.dtype != numpy.float32 or values.size < _MANY_NUMBERS:
            continue
        stored = _eight_bits(values, readers[tensor.name]) if int8 else _half(values)
        if not stored:
            continue
        name = tensor.name
        graph.initializer.remove(tensor)
        names = [f"{name}.{part}" for part in stored]
        graph.initializer.extend(
            numpy_helper.from_array(array, part_name)
            for part_name, array in zip(names, stored.values(), strict=True)
        )
        if all(_looks_up(node, name) for node in readers[name]):
            for node in readers[name]:
                in_place[node.output[0]] = _restore(names, node.output[0], node)
        else:
            first += _restore(names, name)
    nodes = [*first]
    for node in graph.node:
        nodes += in_place.get(node.output[0], [node])
    del graph.node[:]
    graph.node.extend(nodes)


def _half(values: numpy.ndarray) -> Arrays:
    with numpy.errstate(over="ignore"):
        half = values.astype(numpy.float16)
    return {"half": half} if numpy.array_equal(half.astype(numpy.float32), values) else {}


def _eight_bits(values: numpy.ndarray, readers: List[onnx.NodeProto]) -> Arrays:
    # What one number of the output is made of has a factor of its own.
    operators = {node.op_type for node in readers}
    axis: Any = -2 if operators == {"MatMul"} else -1
    if operators == {"Conv"}:
        axis = (1, 2)
    factors = numpy.abs(values).max(axis=axis, keepdims=True) / _LARGEST
    factors[factors == 0] = 1
    numbers = numpy.rint(values / factors).astype(numpy.int8)
    return {"numbers": numbers, "factors": factors.astype(numpy.float32)}


def _looks_up(node: onnx.NodeProto, table: str) -> bool:
    axis = next((item.i for item in node.attribute if item.name == "axis"), 0)
    return node.op_type == "Gather" and node.input[0] == table and axis == 0


def _restore(
    names: List[str], output: str, lookup: Optional[onnx.NodeProto] = None
) -> List[onnx.NodeProto]:
    """The nodes that make single precision of what is stored: all of it, or what is looked up."""
    nodes = []
    if lookup is not None:
        rows = [f"{output}.{number}" for number in range(len(names))]
        nodes = [
            helper.make_node("Gather", [name, lookup.input[1]], [row], name=row)
            for name, row in zip(names, rows, strict=True)
        ]
        names = rows
    cast = output if len(names) == 1 else f"{output}.cast"
    nodes.append(helper.make_node("Cast", names[:1], [cast], name=cast, to=onnx.TensorProto.FLOAT))
    if len(names) == 2:
        nodes.append(helper.make_node("Mul", [cast, names[1]], [output], name=f"{output}.restored"))
    return nodes


def to_bytes(model: onnx.ModelProto, metadata: Dict[str, Any]) -> bytes:
    """A file of the network, checked as far as ONNX has rules, with what `Session` wants to know."""
    text = json.dumps(metadata, ensure_ascii=False, sort_keys=True)
    helper.set_model_props(model, {METADATA_KEY: text})
    onnx.checker.check_model(model, full_check=True)
    return with_checksum(model.SerializeToString(deterministic=True))
