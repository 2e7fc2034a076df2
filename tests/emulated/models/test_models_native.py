"""The repository's own larger networks, whole, natively: golden vectors and inputs that no generator would draw."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import oracle
import vectors as golden
from neuralart.compilers.request import CompileRequest
from neuralart_reference.compile import compile_network, write
from neuralart_reference.model import tflite
from support.host_c import native
from support.projects.sconsproject import MODELS

ROOT = Path(__file__).parents[3]
POOLS = ROOT / "site_scons" / "neuralart" / "boards" / "data" / "pools"

pytestmark = [
    pytest.mark.hostcc,
    pytest.mark.long,
    pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable()),
]


@pytest.mark.parametrize("board", ["stm32n6570-dk", "mps3-an547"])
@pytest.mark.parametrize("name", MODELS)
def test_bytes_are_those_of_litert(name: str, board: str, tmp_path: Path) -> None:
    model = ROOT / "models" / name / f"{name}.tflite"
    inputs, outputs, _ = golden.read(ROOT / "models" / name / "vectors")
    shape = tflite.read(model).tensors[tflite.read(model).inputs[0]].shape
    rng = np.random.default_rng(7)
    drawn = [rng.integers(-128, 128, shape).astype(np.int8) for _ in range(4)]
    more = [[value] for value in (*drawn, np.full(shape, -128, np.int8), np.full(shape, 127, np.int8))]
    write(compile_network(CompileRequest(model, POOLS / f"{board}.mpool", name=name, report=False)), tmp_path / name)
    (network,) = native.build([tmp_path / name], tmp_path)
    want = [*outputs, *oracle.run(model, more)]
    got = network.run([*inputs, *more])
    assert [[o.tobytes() for o in one] for one in got] == [[o.tobytes() for o in one] for one in want]
