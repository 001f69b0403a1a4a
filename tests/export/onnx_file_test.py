from pathlib import Path

import numpy
import onnx
from onnx import helper, numpy_helper

from bidaf_plugin.export import export_predictor
from bidaf_plugin.export.onnx_file import shrink
from tests.export.helpers import assert_same_logits, make_predictor, read_records
from tests.helpers import TINY_SQUAD, tiny_params


class TestFile:
    def test_only_standard_operators_of_one_version(self, tmp_path: Path) -> None:
        out = tmp_path / "model.onnx"
        export_predictor(make_predictor(tiny_params()), str(out))
        model = onnx.load(str(out))
        assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 17)]
        assert not model.functions
        operators = [node.op_type for node in model.graph.node]
        # Two directions of question and passage, of two layers of `M` and of `M2`.
        assert operators.count("LSTM") == 10
        assert not {"Loop", "Scan", "If", "SequenceAt"} & set(operators)
        sizes = {
            item.name: [dim.dim_param for dim in item.type.tensor_type.shape.dim]
            for item in [*model.graph.input, *model.graph.output]
        }
        assert sizes == {
            "question_characters": ["batch", "question_length", "word_length"],
            "question_words": ["batch", "question_length"],
            "question_lengths": ["batch"],
            "passage_characters": ["batch", "passage_length", "word_length"],
            "passage_words": ["batch", "passage_length"],
            "passage_lengths": ["batch"],
            "start_logits": ["batch", "passage_length"],
            "end_logits": ["batch", "passage_length"],
        }


class TestShrink:
    def test_eight_bits_are_a_quarter_and_near(self, tmp_path: Path) -> None:
        predictor = make_predictor(tiny_params("hidden_size:: 40"))
        for name, int8 in (("float.onnx", False), ("int8.onnx", True)):
            export_predictor(predictor, str(tmp_path / name), int8=int8)
        files = [onnx.load(str(tmp_path / name)).graph for name in ("float.onnx", "int8.onnx")]
        sizes = [sum(len(tensor.raw_data) for tensor in graph.initializer) for graph in files]
        assert sizes[1] < 0.35 * sizes[0]
        assert_same_logits(
            predictor, tmp_path / "int8.onnx", read_records(TINY_SQUAD), tolerance=0.1
        )

    def test_what_is_not_lost_in_half_precision_takes_half_the_room(self) -> None:
        numbers = numpy.random.default_rng(0).normal(size=(50, 40)).astype(numpy.float32)
        halves = numbers.astype(numpy.float16).astype(numpy.float32)
        model = look_up_and_multiply(table=halves, weight=numbers)
        shrink(model, int8=False)
        onnx.checker.check_model(model, full_check=True)
        stored = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
        assert stored["table.half"].dtype == numpy.float16
        numpy.testing.assert_array_equal(stored["table.half"], halves)
        numpy.testing.assert_array_equal(stored["weight"], numbers)

    def test_eight_bits_are_off_by_half_a_step_of_their_row_or_column(self) -> None:
        numbers = numpy.random.default_rng(0).normal(size=(50, 40)).astype(numpy.float32)
        # Rows and columns of very different sizes, and some of zeros.
        rows, columns = 10.0 ** numpy.arange(-25, 25)[:, None] / 1e5, numpy.arange(40.0)
        rows[3] = 0
        table, weight = (numbers * rows).astype(numpy.float32), numbers * columns
        model = look_up_and_multiply(table=table, weight=weight.astype(numpy.float32))
        shrink(model, int8=True)
        onnx.checker.check_model(model, full_check=True)
        stored = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
        for name, values, axis in (("table", table, 1), ("weight", weight, 0)):
            assert stored[f"{name}.numbers"].dtype == numpy.int8
            restored = stored[f"{name}.numbers"] * stored[f"{name}.factors"].astype(float)
            largest = abs(values).max(axis=axis, keepdims=True)
            assert (abs(restored - values) <= largest / 127 / 2 * 1.001).all()


def look_up_and_multiply(table: numpy.ndarray, weight: numpy.ndarray) -> onnx.ModelProto:
    """A network with a table of vectors and a matrix."""
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "ids"], ["vectors"]),
            helper.make_node("MatMul", ["other", "weight"], ["product"]),
        ],
        "graph",
        [
            helper.make_tensor_value_info("ids", onnx.TensorProto.INT64, ["n"]),
            helper.make_tensor_value_info("other", onnx.TensorProto.FLOAT, ["n", 50]),
        ],
        [
            helper.make_tensor_value_info("vectors", onnx.TensorProto.FLOAT, ["n", 40]),
            helper.make_tensor_value_info("product", onnx.TensorProto.FLOAT, ["n", 40]),
        ],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(weight, "weight")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
