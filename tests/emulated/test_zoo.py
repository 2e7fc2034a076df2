"""Other people's models: every layer byte-equal to LiteRT natively, four of them whole on both virtual machines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import oracle
import vectors as golden
from neuralart.compilers.reference.compile import CompileRequest, build, write
from neuralart.compilers.reference.ir import BorderOptions
from neuralart.compilers.reference.lower import lower
from neuralart.model import tflite
from neuralart.model.graph import Model
from neuralart.network import mpool
from support import native, zoo
from support.sconsproject import Project, copy_sources

SEED = 4
VECTORS = 3

pytestmark = [
    pytest.mark.long,
    pytest.mark.zoo,
    pytest.mark.skipif(bool(zoo.unavailable()), reason=zoo.unavailable() or "they are there"),
]

# Room for all tensors of a model at a time, since each of them is an output here.
ROOM = """{"memory": {"mem_file_prefix": "atonbuf", "mempools": [
  {"fname": "RAM", "name": "ram", "fformat": "FORMAT_RAW", "prop": {"rights": "ACC_WRITE"},
   "offset": {"value": "0x90000000", "magnitude": "BYTES"}, "size": {"value": "64", "magnitude": "MBYTES"}},
  {"fname": "ROM", "name": "rom", "fformat": "FORMAT_RAW", "prop": {"rights": "ACC_READ"},
   "offset": {"value": "0x70000000", "magnitude": "BYTES"}, "size": {"value": "64", "magnitude": "MBYTES"}}]}}
"""


def inputs_of(model: Model, rng: np.random.Generator) -> list[np.ndarray]:
    """A value per input: anything for integers, what the first layer was quantised for otherwise."""
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
    kinds = ("int8", "uint8", "float32")
    return tuple(i for op in model.operators for i in op.outputs if model.tensors[i].dtype in kinds)


@pytest.mark.hostcc
@pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable() or "it does")
@pytest.mark.parametrize("name", zoo.MODELS)
def test_every_layer(name: str, tmp_path: Path) -> None:
    """All tensors are outputs: a layer whose bytes differ is named, and not only what follows from it."""
    path, pools = zoo.path(name), tmp_path / "room.mpool"
    pools.write_text(ROOM, "utf-8")
    model = tflite.read(path)
    results = all_results(model)
    assert len(results) >= len(model.operators) * 0.6
    everything = replace(model, outputs=results)
    request = CompileRequest(model=path, mpool=pools, name=name, report=False)
    write(build(request, everything, lower(everything, BorderOptions()), mpool.read(pools)), tmp_path / name)
    (network,) = native.build([tmp_path / name], tmp_path)
    rng = np.random.default_rng(SEED)
    vectors = [inputs_of(model, rng) for _ in range(VECTORS)]
    interpreter = oracle.interpreter(path, preserve_all=True)
    entries = [detail["index"] for detail in interpreter.get_input_details()]
    for vector, got in zip(vectors, network.run(vectors), strict=True):
        for entry, value in zip(entries, vector, strict=True):
            interpreter.set_tensor(entry, value)
        interpreter.invoke()
        wrong = [
            f"{model.tensors[index].name} ({op.index} {op.kind})"
            for op in model.operators
            for index in op.outputs
            if index in results and interpreter.get_tensor(index).tobytes() != got[results.index(index)].tobytes()
        ]
        assert not wrong, wrong[:3]


WHOLE = ("anomaly_detection", "image_classification", "keyword_spotting", "rock_paper_scissors")
VARIANTS = """schema: 1
networks:
{networks}
variants:
{variants}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Four of them as variants on both boards."""
    made = copy_sources(tmp_path_factory.mktemp("zoo") / "tree")
    networks, variants = [], []
    rng = np.random.default_rng(SEED)
    for name in WHOLE:
        folder = made.path(f"models/{name}")
        folder.mkdir()
        (folder / "model.tflite").write_bytes(zoo.path(name).read_bytes())
        model = tflite.read(zoo.path(name))
        inputs = [inputs_of(model, rng) for _ in range(2)]
        outputs = oracle.run(zoo.path(name), inputs)
        names = [[model.tensors[i].name for i in group] for group in (model.inputs, model.outputs)]
        (folder / "vectors").mkdir()
        for file, data in golden.encode(inputs, outputs, *names, oracle.identity()).items():
            (folder / "vectors" / file).write_bytes(data)
        networks.append(f"  {name}: {{model: models/{name}/model.tflite, vectors: models/{name}/vectors}}")
        for board in ("stm32n6570-dk", "mps3-an547"):
            variants.append(f"  {name}-{board}: {{board: {board}, network: {name}}}")
    text = VARIANTS.format(networks="\n".join(networks), variants="\n".join(variants))
    made.path("variants.yaml").write_text(text, "utf-8")
    return made


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("board", ["stm32n6570-dk", "mps3-an547"])
@pytest.mark.parametrize("name", WHOLE)
def test_whole_network(project: Project, name: str, board: str) -> None:
    assert f"{name}: 2 vectors bit-exact" in project.run(f"run-{name}-{board}").out
