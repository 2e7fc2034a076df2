"""Public ONNX models that were refused once; NEURALART_REFUSED_MODELS names the folder (docs/reference/onnx.md)."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart.compilers.request import input_shapes
from neuralart.errors import NeuralArtError
from neuralart_reference.model.reader import ended
from support.host_c import native
from support.models.public_models import MARKS, Case, cases, compiled

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
from onnx import helper, numpy_helper  # noqa: E402

from support.models import onnx_oracle  # noqa: E402

LAYERS = 40  # of a model, at equal distances: each is compiled by itself
pytestmark = MARKS


def _inputs(model: Any) -> dict[str, np.ndarray]:
    """Random inputs, over the whole range of a quantized one; masks of ones, small whole numbers."""
    rng, constants = np.random.default_rng(3), {each.name: each for each in model.graph.initializer}
    made = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        if dtype == np.float32:
            readers = [node for node in model.graph.node if value.name in node.input]
            scaled = readers[0].op_type == "QuantizeLinear" and readers[0].input[1] in constants
            scale = numpy_helper.to_array(constants[readers[0].input[1]]).item() if scaled else 1 / 128
            made[value.name] = (rng.uniform(-128, 127, shape) * scale).astype(np.float32)
        elif dtype.itemsize > 1:
            made[value.name] = np.ones(shape, dtype) if "mask" in value.name else rng.integers(0, 200, shape, dtype)
        else:
            made[value.name] = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape, dtype)
    return made


def _layers(model: Any, given: dict[str, np.ndarray]) -> list[tuple[Any, list[np.ndarray], np.ndarray]]:
    """Models from quantized values to the next one, what onnxruntime gives them, and what it makes of it."""
    constants = {each.name: each for each in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    stops = [node for node in model.graph.node if node.op_type == "QuantizeLinear" and node.input[0] not in constants]
    kept = list(model.graph.output)
    wanted = dict.fromkeys([*(node.output[0] for node in stops), *(value.name for value in kept)])
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in wanted)
    (values,) = onnx_oracle.run(model.SerializeToString(), [[*given.values()]])
    known = {**dict(zip(wanted, values, strict=True)), **given}
    ends = [name for name in wanted if known[name].dtype.itemsize == 1]
    made = []
    for name in ends[:: max(1, len(ends) // LAYERS)]:
        nodes, reads, queue = dict[int, Any](), dict[str, None](), [name]
        while queue:
            each = queue.pop()
            if each in given or (each in wanted and each != name):
                reads[each] = None
            elif each in makers and id(makers[each]) not in nodes:
                nodes[id(makers[each])] = makers[each]
                queue += makers[each].input
        order = [node for node in model.graph.node if id(node) in nodes]
        if not reads or len(order) < 2:
            continue
        values_of = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(known[n].dtype), known[n].shape)
            for n in (*reads, name)
        ]
        used = {each for node in order for each in node.input}
        graph = helper.make_graph(
            order, "layer", values_of[:-1], values_of[-1:], [constants[each] for each in constants if each in used]
        )
        layer = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
        made.append((layer, [known[each] for each in reads], known[name]))
    return made


@pytest.mark.parametrize("case", cases("onnx.md"), ids=str)
def test_as_onnxruntime(case: Case, tmp_path: Path) -> None:
    """A float model within 2e-6 of its largest value; of a quantized one each layer within one step."""
    file = case.need()
    if case.how.startswith("refused"):
        with pytest.raises(NeuralArtError, match="which nothing computes"):
            compiled(file, tmp_path / "net")
        return
    path = tmp_path / "net.onnx"
    shapes = case.how.partition("`")[2].strip("`")
    path.write_bytes(ended(file, (), shapes=input_shapes(shapes)))
    model, whole = onnx.load(path), compiled(path, tmp_path / "net")
    given = _inputs(model)
    (got,) = native.build([whole], tmp_path)[0].run([[*given.values()]])
    (want,) = onnx_oracle.run(model.SerializeToString(), [[*given.values()]])
    assert [each.shape for each in got] == [each.shape for each in want]
    if case.how == "float":
        for ours, theirs in zip(got, want, strict=True):
            assert np.abs(ours - theirs).max() <= 2e-6 * np.abs(theirs).max()
        return
    layers, folders = _layers(model, given), []
    for number, (layer, _, _) in enumerate(layers):
        (tmp_path / f"l{number}.onnx").write_bytes(layer.SerializeToString())
        folders.append(compiled(tmp_path / f"l{number}.onnx", tmp_path / f"l{number}"))
    networks = native.build(folders, tmp_path) if folders else []
    for network, (layer, values, theirs) in zip(networks, layers, strict=True):
        ((ours,),) = network.run([values])
        steps = np.abs(ours.astype(int) - theirs.astype(int)).max()
        most = 2 if any(node.op_type == "Resize" for node in layer.graph.node) else 1
        assert steps <= most, [node.output[0] for node in layer.graph.node]
    shutil.rmtree(tmp_path)
