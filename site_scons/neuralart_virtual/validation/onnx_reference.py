"""onnxruntime as the reference of a network that was compiled from a quantized ONNX model (QuantizeLinear pairs)."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port, pieces
from neuralart_virtual.emulator.inputs.preprocessing import shape_text

if TYPE_CHECKING:
    from neuralart_virtual.npu.reference import ReferenceTensor

SUFFIX = ".onnx"


def _libraries(where: str) -> list[Any]:
    try:
        return [importlib.import_module(name) for name in ("numpy", "onnx", "onnxruntime")]
    except ImportError as error:
        hint = "pip install onnx onnxruntime"
        raise NeuralArtError(f"an ONNX model as reference: {error}", where=where, hint=hint) from error


def _turned(np: Any, values: Any, wanted: Sequence[int]) -> Any | None:
    """Values in another order of channels, or with other dimensions of 1; None: they cannot be the same tensor."""
    shape = tuple(values.shape)
    if len(shape) == 4 == len(wanted) and shape != tuple(wanted):
        for axes in ((0, 3, 1, 2), (0, 2, 3, 1)):
            if tuple(shape[axis] for axis in axes) == tuple(wanted):
                return np.transpose(values, axes)
    same = [size for size in shape if size != 1] == [size for size in wanted if size != 1]
    return values.reshape(wanted) if same else None


class OnnxReference:
    """A model of real inputs, with its quantized tensors."""

    def __init__(self, path: Path, inputs: Sequence[Port]) -> None:
        """``inputs``: of the network, in the model's order.

        Raises NeuralArtError: packages are missing, onnxruntime refuses the model, or it has other inputs.
        """
        self._where = path.as_posix()
        self._np, onnx, runtime = _libraries(self._where)
        try:
            model = onnx.load(str(path))
            self.outputs = [value.name for value in model.graph.output]
            nodes = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
            constants = {value.name: value for value in model.graph.initializer}
            self._scales = {
                node.output[0]: float(onnx.numpy_helper.to_array(constants[node.input[1]]).reshape(-1)[0])
                for node in nodes
                if node.input[1] in constants
            }
            known = set(self.outputs)
            for node in nodes:
                if node.output[0] not in known:
                    model.graph.output.append(onnx.helper.make_empty_tensor_value_info(node.output[0]))
            self._quantized = [node.output[0] for node in nodes]
            options = runtime.SessionOptions()
            # Optimizations join operators, whose tensors are gone then.
            options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
            options.log_severity_level = 4
            data = model.SerializeToString()
            self._session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # Classes of protobuf and of onnxruntime, which have no common one
            what = " ".join(str(error).split())[:200]
            raise NeuralArtError(f"onnxruntime cannot run it: {what}", where=self._where) from error
        self._given = self._session.get_inputs()
        self._ports = inputs
        if len(self._given) != len(inputs):
            what = f"has {len(self._given)} inputs, the network {len(inputs)}"
            raise NeuralArtError(what, where=self._where, hint="is it the model of this compile?")
        self.name = f"onnxruntime {runtime.__version__}"

    def _feed(self, data: bytes) -> dict[str, Any]:
        np, feed = self._np, {}
        for port, given, part in zip(
            self._ports, self._given, pieces(data, [port.bytes for port in self._ports]), strict=True
        ):
            values = np.frombuffer(part, np.dtype(port.dtype).newbyteorder("<")).reshape(port.shape)
            real = given.type == "tensor(float)"
            if real and port.dtype != "float32":
                values = (values.astype(np.float64) - port.zero_point) * (port.scale or 1.0)
            wanted = [size if isinstance(size, int) else 1 for size in given.shape]
            turned = _turned(np, values, wanted)
            if turned is None:
                what = f"input {given.name} is {shape_text(wanted)}, that of the network {shape_text(port.shape)}"
                raise NeuralArtError(what, where=self._where, hint="is it the model of this compile?")
            kind = np.float32 if real else np.dtype(given.type.removeprefix("tensor(").removesuffix(")"))
            feed[given.name] = np.ascontiguousarray(turned, dtype=kind)
        return feed

    def _run(self, names: Sequence[str], data: bytes) -> list[Any]:
        feed = self._feed(data)
        try:
            found: list[Any] = self._session.run(list(names), feed)
        except Exception as error:
            what = " ".join(str(error).split())[:200]
            raise NeuralArtError(f"onnxruntime cannot run it: {what}", where=self._where) from error
        return found

    def tensors(self, samples: Sequence[bytes]) -> Iterator[dict[str, ReferenceTensor]]:
        """The quantized tensors of 8 bits of each inference by name, channels last. NeuralArtError: it fails."""
        from neuralart_virtual.npu.reference import tensor_of

        for data in samples:
            tensors = {}
            for name, values in zip(self._quantized, self._run(self._quantized, data), strict=True):
                if values.dtype.name not in ("int8", "uint8") or values.shape[:1] != (1,) or values.ndim > 4:
                    continue
                signed = values.astype("int16") - (128 if values.dtype.name == "uint8" else 0)
                whole = self._np.transpose(signed, (0, 2, 3, 1)) if signed.ndim == 4 else signed
                tensors[name] = tensor_of(whole, self._scales.get(name, 0.0))
            yield tensors

    def outputs_of(self, samples: Sequence[bytes], ports: Sequence[Port]) -> list[list[list[float]]]:
        """Real values of each output, a row for each sample. NeuralArtError: the network has other outputs."""
        if len(self.outputs) != len(ports):
            what = f"has {len(self.outputs)} outputs, the network {len(ports)}"
            raise NeuralArtError(what, where=self._where, hint="is it the model of this compile?")
        found: list[list[list[float]]] = [[] for _ in ports]
        for data in samples:
            for name, values, port, rows in zip(self.outputs, self._run(self.outputs, data), ports, found, strict=True):
                turned = _turned(self._np, values, port.shape)
                if turned is None:
                    what = f"output {name} is {shape_text(values.shape)}, that of the network {shape_text(port.shape)}"
                    raise NeuralArtError(what, where=self._where, hint="is it the model of this compile?")
                real = turned.astype(self._np.float64).reshape(-1)
                if values.dtype.kind in "iu" and port.dtype == values.dtype.name and port.scale:
                    real = (real - port.zero_point) * port.scale
                rows.append([float(value) for value in real])
        return found
