"""Every layer of a model natively against LiteRT: all tensors are outputs, so the layer that differs is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import oracle
from neuralart.compilers.request import BorderOptions, CompileRequest
from neuralart.vendor import mpool
from neuralart_reference.compile import build, write
from neuralart_reference.folding import fold
from neuralart_reference.lower import lower
from neuralart_reference.model import tflite
from neuralart_reference.model.graph import Model
from support.host_c import native

SEED = 4

# Room for all tensors of a model at a time, since each of them is an output here.
ROOM = """{"memory": {"mem_file_prefix": "atonbuf", "mempools": [
  {"fname": "RAM", "name": "ram", "fformat": "FORMAT_RAW", "prop": {"rights": "ACC_WRITE"},
   "offset": {"value": "0x90000000", "magnitude": "BYTES"}, "size": {"value": "64", "magnitude": "MBYTES"}},
  {"fname": "ROM", "name": "rom", "fformat": "FORMAT_RAW", "prop": {"rights": "ACC_READ"},
   "offset": {"value": "0x70000000", "magnitude": "BYTES"}, "size": {"value": "64", "magnitude": "MBYTES"}}]}}
"""


def inputs_of(model: Model, rng: np.random.Generator) -> list[np.ndarray]:
    """A value per input: anything for integers, what the first layer was quantized for otherwise."""
    made = []
    for index in model.inputs:
        tensor = model.tensors[index]
        if tensor.dtype == "float32":
            scale = 4.0
            for op in model.operators:
                target = model.tensors[op.outputs[0]]
                if index in op.inputs and target.quantization is not None and target.quantization.scales:
                    scale = 128 * target.quantization.scales[0]
            made.append(rng.uniform(-scale, scale, tensor.shape).astype(np.float32))
        else:
            kind = np.iinfo(tensor.dtype)
            made.append(rng.integers(kind.min, kind.max + 1, tensor.shape).astype(tensor.dtype))
    return made


def all_results(model: Model) -> tuple[int, ...]:
    """Every tensor that an operator computes while the network runs."""
    kinds = ("int8", "uint8", "int16", "int32", "float32")
    tensors = fold(model).tensors
    return tuple(
        i for op in model.operators for i in op.outputs if tensors[i].dtype in kinds and tensors[i].data is None
    )


def wrong(path: Path, name: str, work: Path, vectors: int) -> list[str]:
    """Tensors whose bytes differ from LiteRT's reference kernels.

    Args:
        path: The model.
        name: C name.
        work: A folder for everything.
        vectors: How many random inputs.

    Raises:
        NeuralArtError: The model is not supported.
    """
    pools = work / "room.mpool"
    pools.write_text(ROOM, "utf-8")
    model = tflite.read(path)
    lower(model, BorderOptions())
    results = all_results(model) or model.outputs  # of a model without operators
    makers = {i: f"{op.index} {op.kind}" for op in model.operators for i in op.outputs}
    everything = replace(model, outputs=results)
    request = CompileRequest(model=path, mpool=pools, name=name, report=False)
    write(build(request, everything, lower(everything, BorderOptions()), mpool.read(pools)), work / name)
    (network,) = native.build([work / name], work)
    rng = np.random.default_rng(SEED)
    inputs = [inputs_of(model, rng) for _ in range(vectors)]
    interpreter = oracle.interpreter(path, preserve_all=True)
    entries = [detail["index"] for detail in interpreter.get_input_details()]
    for vector, got in zip(inputs, network.run(inputs), strict=True):
        for entry, value in zip(entries, vector, strict=True):
            interpreter.set_tensor(entry, value)
        interpreter.invoke()
        found = [
            f"{model.tensors[index].name} ({makers.get(index, 'input')})"
            for index, value in zip(results, got, strict=True)
            if interpreter.get_tensor(index).tobytes() != value.tobytes()
        ]
        if found:
            return found
    return []
