"""The larger networks, built by ``scons`` and run whole on the virtual boards."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import vectors
from neuralart_reference.model import tflite
from support.cases import wide
from support.models import onnx_twins, ssd
from support.projects.sconsproject import Project, prepare

pytestmark = [pytest.mark.arm, pytest.mark.qemu, pytest.mark.long]


def _two(project: Project, network: str, board: str, first: int = 0, more: str = "") -> None:
    """Of the golden vectors of a network, its variant on the board gets two; and further keys."""
    golden, two = project.path(f"models/{network}/vectors"), project.path(f"models/{network}/two{first}")
    inputs, outputs, described = vectors.read(golden)
    names = [[tensor["name"] for tensor in described[kind]] for kind in ("inputs", "outputs")]
    two.mkdir()
    some = slice(first, first + 2)
    for name, data in vectors.encode(inputs[some], outputs[some], *names, described["oracle"]).items():
        (two / name).write_bytes(data)
    row = f"    board: {board}\n    network: {network}\n"
    keys = f"vectors: {two.relative_to(project.root)}{more}"
    project.edit("variants.yaml", row, f"{row}    overrides: {{{network}: {{{keys}}}}}\n")


def _network(project: Project, name: str, file: str, model: bytes, golden: dict[str, bytes], more: str = "") -> None:
    """Two variants of a network with a model of its own and golden vectors; ``more`` keys of it."""
    folder = project.path(f"models/{name}")
    (folder / "vectors").mkdir(parents=True)
    (folder / file).write_bytes(model)
    for each, content in golden.items():
        (folder / "vectors" / each).write_bytes(content)
    row = f"  {name}: {{model: models/{name}/{file}, vectors: models/{name}/vectors{more}}}\n"
    project.edit("variants.yaml", "networks:\n", f"networks:\n{row}")
    boards = (("n6", "stm32n6570-dk"), ("an547", "mps3-an547"))
    rows = [f"  {name}-{on}: {{title: {name}, board: {board}, network: {name}}}\n" for on, board in boards]
    project.edit("variants.yaml", "\nvariants:\n", f"\nvariants:\n{''.join(rows)}")


def _int16_network(project: Project) -> None:
    """A network of int16 activations, with vectors of LiteRT."""
    data, inputs = wide.network(), wide.vectors(2)
    golden = vectors.encode(inputs, oracle.run(data, inputs), [wide.INPUT], [wide.OUTPUT], oracle.identity())
    _network(project, "wide", "wide.tflite", data, golden)


def _cut_detector(project: Project) -> None:
    """A detector that ends in a custom operator, cut in front of it, with vectors of LiteRT."""
    data, rng = ssd.detector(), np.random.default_rng(5)
    inputs = [[rng.integers(-128, 128, (1, 16, 16, 3)).astype(np.int8)] for _ in range(2)]
    outputs = oracle.run(tflite.ended(data, "ssd", ssd.ENDS), inputs)
    golden = vectors.encode(inputs, outputs, ["image"], ssd.ENDS, oracle.identity())
    _network(project, "ssd", "ssd.tflite", data, golden, f", cut: {{outputs: [{', '.join(ssd.ENDS)}]}}")


def _onnx_twin(project: Project) -> None:
    """Mobilenet as a quantized ONNX file, whose vectors are those of the .tflite, channels first."""
    path = project.path("models/mobilenet/mobilenet.tflite")
    model = tflite.read(path)
    inputs, outputs, described = vectors.read(path.parent / "vectors")
    values = ([[onnx_twins.channels_first(value) for value in each] for each in kind[:2]] for kind in (inputs, outputs))
    names = [[f"t{number}" for number in ends] for ends in (model.inputs, model.outputs)]
    golden = vectors.encode(*values, *names, described["oracle"])
    _network(project, "twin", "twin.onnx", onnx_twins.twin(path), golden)


def test_they_are_bit_exact(sources: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    # Each machine computes other vectors; tests/emulated/models/test_models_native.py computes all of them.
    _two(sources, "mobilenet", "stm32n6570-dk")
    _two(sources, "mobilenet", "mps3-an547", 2, ", memory: smallest")
    _two(sources, "heatmap", "stm32n6570-dk")
    _two(sources, "detector", "mps3-an547")
    _int16_network(sources)
    _cut_detector(sources)
    _onnx_twin(sources)
    variants = ["mobilenet-n6", "heatmap-n6", "ssd-n6", "twin-n6", "wide-n6"]
    variants += ["detector-an547", "mobilenet-an547", "ssd-an547", "twin-an547", "wide-an547"]
    out = prepare(sources, tmp_path_factory, *(f"run-{variant}" for variant in variants), timeout=600).out
    found = [line.split(" (")[0] for line in out.splitlines() if "bit-exact" in line]
    assert found == [
        "mobilenet-n6: mobilenet: 2 vectors bit-exact on unicorn",
        "heatmap-n6: heatmap: 2 vectors bit-exact on unicorn",
        "ssd-n6: ssd: 2 vectors bit-exact on unicorn",
        "twin-n6: twin: 2 vectors bit-exact on unicorn",
        "wide-n6: wide: 2 vectors bit-exact on unicorn",
        "detector-an547: detector: 2 vectors bit-exact on qemu",
        "mobilenet-an547: mobilenet: 2 vectors bit-exact on qemu",
        "ssd-an547: ssd: 2 vectors bit-exact on qemu",
        "twin-an547: twin: 2 vectors bit-exact on qemu",
        "wide-an547: wide: 2 vectors bit-exact on qemu",
    ]
    reports = sorted(sources.path("build/networks").glob("mobilenet-*/mobilenet_generate_report.txt"))
    striped, whole = (path.read_text("utf-8") for path in reports)
    assert "In stripes of rows: 'stem' (CONV_2D) to " in striped and "In stripes of rows" not in whole
