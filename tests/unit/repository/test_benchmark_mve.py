"""benchmarks/cmsis_nn.py: which layers of a model are measured, and the table that the measured program reads."""

from __future__ import annotations

import struct
import sys
from collections import Counter
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart.resources import firmware_dir

REPO = Path(__file__).parents[3]
POOLS = REPO / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "mps3-an547.mpool"
MOBILENET = REPO / "models" / "mobilenet" / "mobilenet.tflite"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(str(REPO / "benchmarks"))
    pytest.importorskip("numpy")
    import cmsis_nn

    yield cmsis_nn
    sys.modules.pop("cmsis_nn", None)


def words(blob: bytes, base: int, address: int, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f"<{count}i", blob, address - base)


def test_the_table_holds_every_layer_with_what_it_needs(script):
    layers = script.layers(MOBILENET, POOLS)
    kinds = Counter(layer.kind for layer in layers)
    assert kinds == {script.CONV: 17, script.DEPTHWISE: 8, script.FULLY: 1, script.ADD: 4}
    blob = script.table(layers)
    count, ours, theirs, scratch = struct.unpack_from("<4I", blob)
    assert count == len(layers)
    assert script.TABLE + len(blob) <= ours < theirs < scratch
    assert theirs - ours >= max(layer.outputs for layer in layers) <= scratch - theirs
    for number, layer in enumerate(layers):
        kind, parameters, first, second, filters, bias, multiplier, shift, scale, outputs = struct.unpack_from(
            "<10I", blob, 16 + 40 * number
        )
        assert (kind, outputs) == (layer.kind, layer.outputs)
        assert words(blob, script.TABLE, parameters, len(layer.parameters)) == layer.parameters
        assert all(address % 16 == 0 for address in (parameters, first, second, filters, bias, multiplier, shift))
        assert (first != second) == (layer.kind == script.ADD)
        if layer.kind == script.ADD:
            assert not filters and layer.inputs == (layer.outputs,) * 2
            # Shape, two strides, and eleven numbers: na_add_t.
            assert len(layer.parameters) == 18 + 11
            continue
        assert blob[filters - script.TABLE :].startswith(layer.constants[0])
        assert bool(scale) == (layer.kind == script.FULLY)
        (factor,), (exponent,) = words(blob, script.TABLE, multiplier, 1), words(blob, script.TABLE, shift, 1)
        if scale:
            (wanted,) = struct.unpack_from("<d", blob, scale - script.TABLE)
            assert factor * 2.0 ** (exponent - 31) == pytest.approx(wanted, rel=2**-31)
        assert 2**30 <= factor < 2**31


def test_a_folder_without_the_library_is_named(script, tmp_path):
    with pytest.raises(NeuralArtError, match=r"no Include/arm_nnfunctions\.h") as caught:
        script.build(None, tmp_path, [], [])
    assert str(tmp_path) in str(caught.value)
    assert "Include and Source" in str(caught.value)


def test_the_structures_are_as_long_as_the_table_says(script):
    """The words of each kernel's parameters are those that its header declares."""
    header = (firmware_dir() / "runtime" / "include" / "neuralart_kernels.h").read_text("utf-8")
    declared = header[: header.index("} na_conv2d_t;")].rsplit("typedef struct {", 1)[1]
    members = sum(line.split("/*")[0].count(",") + 1 for line in declared.splitlines() if "int32_t" in line)
    convolutions = [layer for layer in script.layers(MOBILENET, POOLS) if layer.kind == script.CONV]
    assert {len(layer.parameters) for layer in convolutions} == {members}
